// Reading a schedule's text form; text.cc writes it.
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/schedule/collective.h"
#include "core/schedule/text.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// One line, read from left to right.
class Line {
 public:
  Line(std::string_view text, int number, std::string_view source)
      : text_(text.substr(0, comment(text))), number_(number), source_(source) {}

  bool at_end() {
    skip();
    return at_ == text_.size();
  }

  /// Letters and underscores.
  std::string_view word(const std::string& expected) {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) fail("expected " + expected);
    return text_.substr(begin, at_ - begin);
  }

  /// True, and taken, when the next word is this one.
  bool take_word(std::string_view wanted) {
    const std::size_t before = (skip(), at_);
    if (!at_end() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 &&
        word("a word") == wanted)
      return true;
    at_ = before;
    return false;
  }
  void keyword(std::string_view wanted) {
    if (!take_word(wanted)) fail("expected '" + std::string(wanted) + "'");
  }

  bool take(std::string_view sign) {
    skip();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void sign(std::string_view wanted) {
    if (!take(wanted)) fail("expected '" + std::string(wanted) + "'");
  }

  int number(const std::string& expected, int least, int most) {
    skip();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      value = std::min<std::int64_t>(value * 10 + (text_[at_++] - '0'), std::int64_t{1} << 40);
    const bool good = at_ > begin && value >= least && value <= most;
    if (!good) at_ = begin;
    if (!good)
      fail("expected " + expected + ", a number from " + std::to_string(least) + " to " +
           std::to_string(most));
    return static_cast<int>(value);
  }

  /// A run of characters without spaces and quotes, or anything in double quotes.
  std::string name(const std::string& expected) {
    skip();
    const bool quotes = take("\"");
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' &&
           (quotes || std::isspace(static_cast<unsigned char>(text_[at_])) == 0))
      ++at_;
    if (at_ == begin) fail("expected " + expected);
    std::string found(text_.substr(begin, at_ - begin));
    if (quotes) sign("\"");
    return found;
  }

  void end() {
    if (!at_end()) fail("expected the end of the line");
  }

  /// Where the next thing begins, for fail_at().
  std::size_t mark() { return (skip(), at_); }
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) {
    at_ = column;
    fail(what);
  }
  [[noreturn]] void fail(const std::string& what) const {
    const std::string_view rest = text_.substr(at_);
    const std::string found =
        rest.empty() ? "the end of the line"
                     : "'" + std::string(rest.substr(0, rest.find_first_of(" \t\r"))) + "'";
    throw Error(ErrorCode::invalid_argument, std::string(source_) + ":" + std::to_string(number_) +
                                                 ":" + std::to_string(at_ + 1) + ": " + what +
                                                 ", found " + found);
  }

 private:
  /// A '#' outside quotes.
  static std::size_t comment(std::string_view text) {
    bool quotes = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') quotes = !quotes;
      if (text[i] == '#' && !quotes) return i;
    }
    return text.size();
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  std::string_view text_;
  int number_;
  std::string_view source_;
  std::size_t at_ = 0;
};

constexpr int most_ranks = 1 << 20;
constexpr int most_parts = 1 << 20;
constexpr int most_chunks = 1 << 30;  ///< sums of two chunks' numbers fit into an int
constexpr std::size_t most_phases = std::size_t{1} << 16;  ///< Step::phase is one of them

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Schedule read(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('\n'), text.size());
      Line line(text.substr(0, length), ++number, source_);
      if (!line.at_end()) statement(line);
      text.remove_prefix(std::min(length + 1, text.size()));
    }
    Line after("", number + 1, source_);
    if (!is_open_) open_header(after, 0);
    return finish();
  }

 private:
  /// By section, rank * lanes + lane. Takes no more memory than the text, however many ranks it has.
  using Lists = std::map<std::size_t, std::vector<Step>>;

  void statement(Line& line) {
    const std::size_t begin = line.mark();
    const std::string_view word = line.word("a word such as 'collective', 'rank' or 'send'");
    if (word == "rank")
      rank(line, begin);
    else if (word == "phase" || word == "round")
      labelled(line, word == "phase");
    else if (std::optional<Step> step = this->step(line, word))
      add(line, begin, *step);
    else if (is_open_ || !header(line, word))
      line.fail_at(begin,
                   is_open_ ? "expected send, receive, receive_reduce, reduce, copy, phase, round "
                              "or rank"
                            : "expected collective, algorithm, ranks, root, lanes, depth, parts, "
                              "phases or rank");
    line.end();
  }

  bool header(Line& line, std::string_view word) {
    if (word == "collective") {
      const std::size_t begin = line.mark();
      const std::optional<Collective> known = parse_collective(line.name("a collective"));
      if (!known) line.fail_at(begin, "expected a collective (" + known_collectives() + ")");
      schedule_.collective = *known;
      has_collective_ = true;
    } else if (word == "algorithm") {
      schedule_.algorithm = line.name("a name");
    } else if (word == "ranks") {
      schedule_.ranks = line.number("the number of ranks", 1, most_ranks);
      has_ranks_ = true;
    } else if (word == "root") {
      schedule_.root = line.number("the root", 0, most_ranks);
    } else if (word == "lanes") {
      schedule_.lanes = line.number("the number of lanes", 1, 65535);
    } else if (word == "depth") {
      schedule_.depth = line.number("the depth of channels", 1, 1 << 30);
    } else if (word == "parts") {
      parts_ = line.number("the parts of a block", 1, most_parts);
    } else if (word == "phases") {
      while (!line.at_end()) schedule_.phases.push_back(line.name("a phase's name"));
      if (schedule_.phases.size() > most_phases)
        line.fail("expected at most " + std::to_string(most_phases) + " phases");
    } else {
      return false;
    }
    return true;
  }

  static std::string known_collectives() {
    std::string names;
    for (const CollectiveInfo& each : collectives)
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
  }

  /// The header is complete: sections begin.
  void open_header(Line& line, std::size_t begin) {
    if (!has_collective_) line.fail_at(begin, "expected 'collective' in the lines before");
    if (!has_ranks_) line.fail_at(begin, "expected 'ranks' in the lines before");
    schedule_.layout = make_layout(schedule_.collective, schedule_.ranks, parts_);
    if (schedule_.layout.blocks > most_chunks / parts_)
      line.fail_at(begin, "expected at most " + std::to_string(most_chunks) +
                              " chunks in the lines before (blocks times parts)");
    if (schedule_.root >= schedule_.ranks)
      line.fail_at(begin, "expected a root below " + std::to_string(schedule_.ranks) +
                              " in the lines before (root is " + std::to_string(schedule_.root) +
                              ")");
    is_open_ = true;
  }

  void rank(Line& line, std::size_t statement_begin) {
    if (!is_open_) open_header(line, statement_begin);
    const std::size_t begin = line.mark();
    const int rank = line.number("a rank", 0, schedule_.ranks - 1);
    const int lane = line.take_word("lane") ? line.number("a lane", 0, schedule_.lanes - 1) : 0;
    const auto [found, is_new] = sections_.try_emplace(section(rank, lane, schedule_.lanes));
    if (!is_new) line.fail_at(begin, "this rank and lane have a section already");
    section_ = &found->second;
    phase_ = round_ = 0;
  }

  void labelled(Line& line, bool names_phase) {
    if (names_phase) {
      const std::size_t begin = line.mark();
      const std::string name = line.name("a phase's name");
      const auto found = std::find(schedule_.phases.begin(), schedule_.phases.end(), name);
      if (found == schedule_.phases.end())
        line.fail_at(begin, "expected a phase that the 'phases' line names");
      phase_ = static_cast<int>(found - schedule_.phases.begin());
      line.keyword("round");
    }
    round_ = line.number("a round", 1, 1 << 30) - 1;
  }

  void add(Line& line, std::size_t begin, const Step& step) {
    if (section_ == nullptr) line.fail_at(begin, "expected 'rank' before the first step");
    section_->push_back(step.at(phase_, round_));
  }

  static std::size_t section(int rank, int lane, int lanes) {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(lanes) +
           static_cast<std::size_t>(lane);
  }

  std::optional<Step> step(Line& line, std::string_view word) {
    if (word != "send" && word != "receive" && word != "receive_reduce" && word != "reduce" &&
        word != "copy")
      return std::nullopt;
    if (section_ == nullptr) line.fail_at(0, "expected 'rank' before the first step");
    if (word == "send") {
      const Chunk from = chunk(line);
      line.keyword("to");
      return send(peer(line), from);
    }
    if (word == "receive") {
      line.keyword("from");
      const int from = peer(line);
      return receive(from, into(line));
    }
    if (word == "receive_reduce") return receive_reduce_step(line);
    int slots = 1;
    const Chunk from = chunk(line, word == "reduce" ? &slots : nullptr);
    return word == "copy" ? copy(from, into(line)) : reduce(from, slots, into(line));
  }

  Step receive_reduce_step(Line& line) {
    if (line.take_word("from")) {
      const int from = peer(line);
      line.keyword("then");
      const Chunk local = chunk(line);
      return receive_reduce(from, local, into(line), Order::received_first);
    }
    const Chunk local = chunk(line);
    line.keyword("then");
    line.keyword("from");
    const int from = peer(line);
    return receive_reduce(from, local, into(line), Order::local_first);
  }

  int peer(Line& line) { return line.number("a rank", 0, schedule_.ranks - 1); }

  Chunk into(Line& line) {
    line.keyword("into");
    return chunk(line);
  }

  /// `slots` takes the number of a range of scratch slots, where one may stand.
  Chunk chunk(Line& line, int* slots = nullptr) {
    const std::size_t begin = line.mark();
    const std::string_view name = line.word("input, output or scratch");
    Chunk found;
    if (name == "output") found.buffer = Buffer::output;
    if (name == "scratch") {
      found.buffer = Buffer::scratch;
      found.slot = static_cast<std::uint16_t>(line.number("a scratch slot", 0, 65535));
      if (slots != nullptr && line.take(".."))
        *slots = line.number("the last scratch slot", found.slot, 65535) - found.slot + 1;
    } else if (name != "input" && name != "output") {
      line.fail_at(begin, "expected input, output or scratch");
    }
    const int chunks = schedule_.layout.chunks();
    line.sign("[");
    const int first = line.number("a chunk", 0, chunks - 1);
    const int last = line.take("..") ? line.number("the last chunk", 0, chunks - 1) : first;
    line.sign("]");
    found.first = static_cast<std::uint32_t>(first);
    found.count = static_cast<std::uint32_t>((last - first + chunks) % chunks + 1);
    return found;
  }

  Schedule finish() {
    auto lists = std::make_shared<const Lists>(std::move(sections_));
    schedule_.steps = [lists, lanes = schedule_.lanes](int rank, int lane) {
      return listed(lists, section(rank, lane, lanes));
    };
    return std::move(schedule_);
  }

  static Steps listed(std::shared_ptr<const Lists> lists, std::size_t section) {
    const auto found = lists->find(section);
    if (found == lists->end()) co_return;
    for (const Step& step : found->second) co_yield step;
  }

  std::string_view source_;
  Schedule schedule_{};
  Lists sections_{};
  std::vector<Step>* section_ = nullptr;  ///< of sections_; there is none in the header
  bool is_open_ = false;                  ///< the header is complete
  int parts_ = 1;
  int phase_ = 0;
  int round_ = 0;
  bool has_collective_ = false;
  bool has_ranks_ = false;
};

}  // namespace

Schedule parse_schedule(std::string_view text, std::string_view source) {
  return Reader(source).read(text);
}

}  // namespace rondo
