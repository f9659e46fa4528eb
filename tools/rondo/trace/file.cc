#include "tools/rondo/trace/file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "tools/rondo/arguments.h"

namespace rondo::tool {
namespace {

constexpr std::string_view first_line = "rondo trace 1";
constexpr int most_traced_ranks = 1 << 20;
/// In nanoseconds: 18 years of a clock, so that sums and differences of a few times fit.
constexpr std::int64_t most_time = std::numeric_limits<std::int64_t>::max() / 16;

/// Reads a trace line by line; every complaint names the line.
class Reader {
 public:
  Reader(std::string_view text, TraceFile& file) : rest_(text), file_(file) {}

  void read() {
    if (!next_line() || line_ != first_line) foreign();
    while (next_line()) {
      if (file_.complete) complain("has more after its end");
      words_ = line_;
      item(std::string(word()));
    }
    if (!headed_) complain("is cut off in its head");
    if (!file_.complete && (!file_.events.empty() || !file_.forms.empty() || !lost_said_))
      complain("is cut off: its last line, `end`, is missing");
  }

 private:
  [[noreturn]] void foreign() const {
    const bool other = line_.starts_with("rondo trace ");
    reject("'" + file_.path + "' " +
               (other ? "is a trace of another version: " + std::string(line_)
                      : "is not a trace of rondo"),
           other ? "the program rondo of the version that wrote it"
                 : "the files that RONDO_TRACE=FILE left, FILE.0, FILE.1, ...");
  }
  [[noreturn]] void complain(const std::string& what) const {
    reject("'" + file_.path + "' " + what + " (line " + std::to_string(number_) + ")",
           "copy it again from the machine of its rank, or leave it out");
  }

  bool next_line() {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos && headed_) complain("is cut off in a line");
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return true;
  }
  std::string_view word() {
    const std::size_t end = std::min(words_.find(' '), words_.size());
    const std::string_view found = words_.substr(0, end);
    words_.remove_prefix(std::min(end + 1, words_.size()));
    return found;
  }
  template <class Integer>
  Integer number(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                 std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    if constexpr (sizeof(Integer) < sizeof(most))
      most = std::min<std::int64_t>(most, std::numeric_limits<Integer>::max());
    const std::string_view text = word();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
      complain("has '" + std::string(text) + "' where a number is due");
    return static_cast<Integer>(value);
  }
  template <class Integer = std::uint64_t>
  Integer count() {
    return number<Integer>(0);
  }
  int peer() {
    if (words_.starts_with("-")) return word(), -1;
    return number<int>(0, file_.ranks - 1);
  }
  template <class Value>
  Value known(const std::optional<Value>& value, const char* what) const {
    if (!value) complain(std::string("has an unknown ") + what);
    return *value;
  }

  void item(const std::string& kind) {
    if (kind.size() == 1) return event(kind[0]);
    if (kind == "run")
      file_.run = word();
    else if (kind == "communicator")
      file_.communicator = word();
    else if (kind == "rank")
      ranks();
    else if (kind == "host")
      file_.host = words_;
    else if (kind == "clock")
      file_.clock = words_;
    else if (kind == "over")
      file_.over = words_;
    else if (kind == "offset")
      offset();
    else if (kind == "base")
      base_ = number<std::int64_t>(0, most_time);
    else if (kind == "plan")
      plan();
    else if (kind == "op")
      op();
    else if (kind == "form" || kind == "message")
      form(kind == "message");
    else if (kind == "gpu")
      gpu_call();
    else if (kind == "failed")
      file_.failed = words_;
    else if (kind == "lost")
      lost();
    else if (kind == "end")
      end();
    else
      complain("has an unknown line '" + kind + "'");
  }

  void ranks() {
    file_.rank = number<int>(0, most_traced_ranks);
    word();
    file_.ranks = number<int>(1, most_traced_ranks);
    if (file_.rank >= file_.ranks) complain("is of a rank that its run does not have");
    headed_ = true;
  }
  void offset() {
    trace::Offset& offset = file_.offsets.emplace_back();
    offset.at = number<std::int64_t>(-most_time, most_time);
    offset.ahead = number<std::int64_t>(-most_time, most_time);
    offset.uncertainty = number<std::int64_t>(0, most_time);
  }
  void plan() {
    if (count() != file_.plans.size()) complain("has plans out of order");
    TracedPlan& plan = file_.plans.emplace_back();
    plan.collective = known(parse_collective(word()), "collective");
    plan.algorithm = word();
    plan.root = number<int>(-1, file_.ranks - 1);
    plan.ranks = number<int>(file_.ranks, file_.ranks);
    plan.lanes = number<int>(1, 64);
    plan.chunks = number<int>(1);
  }
  void op() {
    if (file_.plans.empty()) complain("has an op of no plan");
    TracedOp& op = file_.plans.back().ops.emplace_back();
    op.lane = number<int>(0, 63);
    op.phase = count<int>();
    op.round = count<int>();
    count();  // the number of chunks; the schedule says which
    count();
    op.out = peer();
    while (!words_.empty()) op.from.push_back(peer());
  }
  void form(bool message) {
    if (count() != file_.forms.size()) complain("has forms out of order");
    TracedForm& form = file_.forms.emplace_back();
    form.plan = number<std::size_t>(0, static_cast<std::int64_t>(file_.plans.size()) - 1);
    form.count = count();
    form.type = known(parse_data_type(word()), "type");
    if (message) {
      form.peer = peer();
      form.sends = word() == "sends";
    } else {
      form.op = known(parse_reduce_operator(word()), "operator");
    }
    count();  // the elements of a slice
    form.passes = count();
  }
  void event(char kind) {
    TracedEvent& event = file_.events.emplace_back();
    event.kind = kind;
    event.time = base_ + number<std::int64_t>(0, most_time);
    event.call = count();
    if (kind == 'B') {
      event.place = number<std::uint64_t>(0, static_cast<std::int64_t>(file_.forms.size()) - 1);
      event.pass = count();
    } else if (kind == 'b' || kind == 'e') {
      event.place = count();
      event.pass = count();
      if (kind == 'e') event.bytes = count();
    } else if (kind == 'm') {
      event.place = number<std::uint64_t>(1, 2);
      event.mode = word();
    } else if (kind == 'E') {
      event.place = number<std::uint64_t>(0, 1);
    } else if (kind != 'p' && kind != 's') {
      complain(std::string("has an unknown event '") + kind + "'");
    }
  }
  std::optional<std::int64_t> time_if_known() {
    if (words_.starts_with("-")) return word(), std::nullopt;
    return base_ + number<std::int64_t>(0, most_time);
  }
  void gpu_call() {
    TracedGpuCall& call = file_.gpu_calls.emplace_back();
    call.way = word();
    call.captured = number<int>(0, 1) == 1;
    call.put = base_ + number<std::int64_t>(0, most_time);
    call.begun = time_if_known();
    call.completed = time_if_known();
    call.collective = known(parse_collective(word()), "collective");
    call.count = count();
    call.type = known(parse_data_type(word()), "type");
    known(parse_reduce_operator(word()), "operator");
    number<int>();  // the root
    if (words_.empty()) return;
    call.peer = peer();
    call.sends = word() == "sends";
  }
  void lost() {
    file_.lost_events = count();
    file_.lost_calls = count();
    if (!words_.empty()) file_.lost_gpu_calls = count();
    lost_said_ = true;
  }
  void end() {
    if (count() != file_.events.size()) complain("lacks events, or has too many");
    file_.complete = true;
  }

  std::string_view rest_;
  TraceFile& file_;
  std::string_view line_{};
  std::string_view words_{};
  std::size_t number_ = 0;
  std::int64_t base_ = 0;
  bool headed_ = false;
  bool lost_said_ = false;
};

}  // namespace

TraceFile parse_trace(const std::string& text, const std::string& path) {
  TraceFile file{.path = path};
  Reader(text, file).read();
  return file;
}

TraceFile read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    reject("cannot read '" + path + "'",
           "the files that RONDO_TRACE=FILE left, FILE.0, FILE.1, ...");
  return parse_trace(std::string{std::istreambuf_iterator<char>(file), {}}, path);
}

std::vector<std::string> trace_paths(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (std::filesystem::is_regular_file(name)) {
      paths.push_back(name);
      continue;
    }
    const std::size_t before = paths.size();
    int missing = 0;  // a rank's file may be missing in between
    for (int rank = 0; missing < 64; ++rank) {
      const std::string path = name + "." + std::to_string(rank);
      const bool there = std::filesystem::is_regular_file(path);
      if (there) paths.push_back(path);
      missing = there ? 0 : missing + 1;
    }
    if (paths.size() == before)
      reject("there is no trace '" + name + "', nor '" + name + ".0'",
             "run a program with RONDO_TRACE=" + name + ", then `rondo trace " + name + "`");
  }
  return paths;
}

}  // namespace rondo::tool
