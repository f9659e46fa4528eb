// A rank's trace as text, so that people can read it and tests can make one by hand:
//
//   rondo trace 1                                    form of the file
//   run R / communicator C / rank r of P world w     whose it is
//   host H / clock K / over T                        where it ran; equal clocks are one clock
//   offset AT AHEAD UNCERTAINTY                      nanoseconds; none, one or two (begin and end)
//   base B                                           what the times of events are counted from
//   plan N COLLECTIVE ALGORITHM ROOT RANKS LANES CHUNKS
//   op LANE PHASE ROUND FIRST COUNT OUT OPERAND...   ops of that plan in order; OUT and OPERAND: a
//                                                    rank, or - where no message comes or goes
//   form N PLAN COUNT TYPE OPERATOR SLICE PASSES DIRECT     DIRECT: 1 where it may go that way
//   message N PLAN COUNT TYPE PEER sends|receives SLICE PASSES
//   B TIME CALL FORM SEQUENCE                        events, see event.h: b, e for ops, p, s, m, E
//   gpu WAY CAPTURED PUT BEGUN COMPLETED COLLECTIVE COUNT TYPE OPERATOR ROOT [PEER sends|receives]
//                                                    a call on GPU buffers, see stream_log.h;
//                                                    CAPTURED: 0 or 1; times that are not known: -
//   failed WORDS                                     why the communicator failed, if it did
//   lost EVENTS CALLS GPU_CALLS                      what did not fit
//   end EVENTS                                       without it the file is incomplete
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string_view>

#include "core/trace/recorder.h"
#include "rondo/error.h"

namespace rondo::trace {
namespace {

constexpr std::size_t most_buffered = std::size_t{1} << 16;

[[noreturn]] void refuse(const Origin& origin, const std::string& path) {
  throw Error(ErrorCode::configuration,
              "cannot write the trace " + path + ": " + std::strerror(errno),
              {.rank = origin.rank,
               .remedy = "name a file in a folder that exists here and has room (RONDO_TRACE)"});
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Writes lines into a file that gets its name when it is whole, and is removed if it cannot be.
class Lines {
 public:
  explicit Lines(const Origin& origin)
      : origin_(origin), unfinished_(origin.path + ".part"), file_(unfinished_, std::ios::binary) {
    if (!file_) refuse(origin_, unfinished_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (!finished_) std::remove(unfinished_.c_str());
  }

  template <class... Words>
  void line(std::string_view first, const Words&... words) {
    text_ += first;
    (word(words), ...);
    text_ += '\n';
    if (text_.size() > most_buffered) flush();
  }
  void finish() {
    flush();
    file_.close();
    if (!file_ || std::rename(unfinished_.c_str(), origin_.path.c_str()) != 0)
      refuse(origin_, origin_.path);
    finished_ = true;
  }

 private:
  void word(std::string_view text) {
    if (!text.empty()) (text_ += ' ') += text;
  }
  void word(const char* text) { word(std::string_view(text)); }
  void word(const std::string& text) { word(std::string_view(text)); }
  template <class Integer>
  void word(Integer number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    word(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  void flush() {
    file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  const Origin& origin_;
  std::string unfinished_;
  std::ofstream file_;
  std::string text_{};
  bool finished_ = false;
};

void add_origin(Lines& lines, const Origin& origin) {
  lines.line("rondo trace 1");
  lines.line("run", origin.run);
  lines.line("communicator", origin.communicator);
  lines.line("rank", origin.rank, "of", origin.ranks, "world", origin.world_rank);
  lines.line("host", one_line(origin.host));
  lines.line("clock", one_line(origin.clock));
  lines.line("over", origin.over);
}

std::string_view mode_text(std::uint32_t mode) {
  constexpr std::array<std::string_view, 3> names{"one_shot", "two_shot", "push"};
  return names[mode % names.size()];
}

std::string peer_text(std::int32_t peer) { return peer < 0 ? "-" : std::to_string(peer); }

void add_plan(Lines& lines, std::size_t number, const Plan& plan) {
  const Schedule& schedule = plan.schedule;
  lines.line("plan", number, name(schedule.collective), schedule.algorithm, schedule.root,
             schedule.ranks, schedule.lanes, schedule.layout.chunks());
  for (const Op& op : plan.program.ops) {
    std::string operands;
    for (const Operand& operand : plan.program.operands_of(op))
      operands += (operands.empty() ? "" : " ") + peer_text(operand.peer);
    lines.line("op", op.lane, op.phase, op.round, op.extent.first, op.extent.count,
               peer_text(op.out_peer), operands);
  }
}

/// Readers take blocks to be equal. Where they are not, this is the mean.
std::uint64_t count_of(const Call& call, int ranks) {
  const bool in_all = call.blocks > between_pairs;
  return in_all ? call.count / static_cast<std::uint64_t>(ranks) : call.count;
}

void add_form(Lines& lines, std::size_t number, std::size_t plan, const Form& form) {
  const PreparedCall& prepared = *form.prepared;
  const Call& call = prepared.call;
  const Slicing& slicing = prepared.slicing;
  if (form.peer >= 0) {
    lines.line("message", number, plan, call.count, name(call.type), form.peer,
               form.sends ? "sends" : "receives", slicing.slice, slicing.passes);
  } else {
    // Readers know no operators of the caller's: their elements are written as bytes, and as a sum.
    const std::size_t bytes = call.operator_code != 0 ? prepared.element_bytes : 1;
    lines.line("form", number, plan, bytes * count_of(call, prepared.plan->schedule.ranks),
               name(call.type), name(call.op), bytes * slicing.slice, slicing.passes,
               prepared.shared != nullptr ? 1 : 0);
  }
}

void add_stream_call(Lines& lines, const StreamCall& known, int ranks, std::uint64_t base) {
  const auto time_text = [&](std::int64_t time) {
    return time == 0 ? std::string("-") : std::to_string(static_cast<std::uint64_t>(time) - base);
  };
  const Call& call = known.call;
  std::string message;
  if (known.peer >= 0)
    message = std::to_string(known.peer) + (known.sends ? " sends" : " receives");
  lines.line("gpu", name(known.way), known.captured ? 1 : 0, time_text(known.put),
             time_text(known.begun), time_text(known.completed), name(call.collective),
             count_of(call, ranks), name(call.type), name(call.op), call.root, message);
}

void add_event(Lines& lines, const Event& event, std::uint64_t base) {
  const std::uint64_t time = event.time - base;
  switch (event.kind) {
    case EventKind::begin:
      return lines.line("B", time, event.call, event.place, event.pass);
    case EventKind::op_begin:
      return lines.line("b", time, event.call, event.place, event.pass);
    case EventKind::op_end:
      return lines.line("e", time, event.call, event.place, event.pass, event.bytes);
    case EventKind::shown:
      return lines.line("p", time, event.call);
    case EventKind::seen:
      return lines.line("s", time, event.call);
    case EventKind::stepped:
      return lines.line("m", time, event.call, event.place, mode_text(event.pass));
    case EventKind::end:
      return lines.line("E", time, event.call, event.place);
  }
}

}  // namespace

/// Oldest first.
template <class Visit>
void Recorder::each_event(Visit visit) const {
  for (std::size_t i = 1; i <= pages_.size(); ++i) {
    const std::size_t page = (page_ + i) % pages_.size();
    const Event* const begin = pages_[page].get();
    const Event* const end = page == page_ ? next_ : begin + page_events;
    std::for_each(begin, end, visit);
  }
}

void Recorder::write_file() const {
  Lines lines(origin_);
  add_origin(lines, origin_);
  for (const Offset& offset : offsets_)
    lines.line("offset", offset.at, offset.ahead, offset.uncertainty);
  std::uint64_t events = 0;
  std::uint64_t base = std::numeric_limits<std::uint64_t>::max();
  each_event([&](const Event& event) {
    base = std::min(base, event.time);
    ++events;
  });
  const std::vector<StreamCall> stream_calls = stream_log_->calls();
  for (const StreamCall& call : stream_calls)
    base = std::min(base, static_cast<std::uint64_t>(call.put));
  lines.line("base", events == 0 && stream_calls.empty() ? 0 : base);
  std::map<const Plan*, std::size_t> plans;
  for (std::size_t number = 0; number < forms_.size(); ++number) {
    const Plan* const plan = forms_[number].prepared->plan.get();
    const auto [at, is_new] = plans.emplace(plan, plans.size());
    if (is_new) add_plan(lines, at->second, *plan);
    add_form(lines, number, at->second, forms_[number]);
  }
  each_event([&](const Event& event) { add_event(lines, event, base); });
  for (const StreamCall& call : stream_calls) add_stream_call(lines, call, origin_.ranks, base);
  if (!failure_.empty()) lines.line("failed", one_line(failure_));
  lines.line("lost", overwritten_, left_out_, stream_log_->lost());
  if (complete_) lines.line("end", events);
  lines.finish();
}

}  // namespace rondo::trace
