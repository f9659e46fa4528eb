// Recorder: one rank's trace of one communicator, kept in memory and written to a file at the end.
//
// Memory is bounded: events fill pages up to a limit, then the oldest page is used again. The file
// says how many events that cost. The caller holds the communicator's progress lock (see
// core/communicator/state.h), so nothing here is atomic. Where nothing is traced there is no
// Recorder, and the places that would record test one pointer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/plan/prepared.h"
#include "core/trace/clocks.h"
#include "core/trace/event.h"
#include "core/trace/stream_log.h"

namespace rondo::trace {

/// What the file says of the run and of this rank; see write.cc for its form.
struct Origin {
  std::string path{};          ///< of this rank's own file
  std::string run{};           ///< equal on all ranks of the run, and on no others
  std::string communicator{};  ///< "world", or which other one
  int rank = 0;
  int ranks = 1;
  int world_rank = 0;
  std::string host{};   ///< for people
  std::string clock{};  ///< ranks with the same have the same clock
  std::string over{};   ///< the transports
};

/// What calls of one form have in common: a plan with its sizes, or a send or receive.
struct Form {
  std::shared_ptr<const PreparedCall> prepared{};
  int peer = -1;  ///< >= 0: a send or receive, and with whom
  bool sends = false;
};

class Recorder {
 public:
  /// Makes the file, so that a name that cannot be written is known before the run: throws
  /// Error{configuration}. `limit`: events kept, at least 1000.
  Recorder(Origin origin, std::size_t limit);

  /// A call begins. Returns the number by which its events go; 0: the call is not recorded, since
  /// there are more forms than are kept.
  std::uint32_t begin(const Form& form, std::uint64_t sequence);
  /// `time`: now() when it began.
  void op_began(std::uint32_t call, std::size_t op, std::uint64_t pass, std::int64_t time) {
    add(call, EventKind::op_begin, op, pass, 0, time);
  }
  void op_ended(std::uint32_t call, std::size_t op, std::uint64_t pass, std::size_t bytes) {
    add(call, EventKind::op_end, op, pass, bytes);
  }
  void shown(std::uint32_t call) { add(call, EventKind::shown, 0, 0, 0); }
  void seen(std::uint32_t call) { add(call, EventKind::seen, 0, 0, 0); }
  void stepped(std::uint32_t call, std::uint64_t step, SharedForm form) {
    add(call, EventKind::stepped, step, static_cast<std::uint64_t>(form), 0);
  }
  void end(std::uint32_t call, bool direct) { add(call, EventKind::end, direct ? 1 : 0, 0, 0); }

  void set_offset(const Offset& offset) { offsets_.push_back(offset); }
  void failed(std::string why) { failure_ = std::move(why); }
  /// Writes the file, with all that is known by now. A failure to write is a warning in the log: a
  /// trace is not worth a run.
  void write() noexcept;

  static std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
  const Origin& origin() const { return origin_; }
  /// The log of calls on GPU buffers; its users may outlive the recorder.
  const std::shared_ptr<StreamLog>& stream_log() const { return stream_log_; }

 private:
  static constexpr std::size_t page_events = 1000;
  static constexpr std::size_t events_per_stream_call = 4;  ///< by the memory that it takes
  static constexpr std::size_t most_forms = 16384;

  void add(std::uint32_t call, EventKind kind, std::size_t place, std::uint64_t pass,
           std::size_t bytes, std::int64_t time = now()) {
    if (call == 0) return;
    if (next_ == page_end_) turn_page();
    *next_++ = {.time = static_cast<std::uint64_t>(time),
                .call = call,
                .place = static_cast<std::uint32_t>(place),
                .pass = static_cast<std::uint32_t>(pass),
                .bytes = static_cast<std::uint32_t>(bytes),
                .kind = kind};
  }
  /// What tells forms apart.
  using Key = std::tuple<const Plan*, Collective, std::uint64_t, std::uint64_t, DataType,
                         ReduceOperator, std::uint32_t, std::int32_t, bool>;
  std::uint32_t number_of(const Form& form);
  void turn_page();
  void write_file() const;
  template <class Visit>
  void each_event(Visit visit) const;

  Origin origin_;
  std::size_t most_pages_;
  std::vector<std::unique_ptr<Event[]>> pages_{};
  std::size_t page_ = 0;   ///< the one being filled
  std::size_t turns_ = 1;  ///< pages that have been begun
  Event* next_ = nullptr;
  Event* page_end_ = nullptr;
  std::uint64_t overwritten_ = 0;  ///< events
  std::uint64_t left_out_ = 0;     ///< calls
  std::uint32_t calls_ = 0;
  std::vector<Form> forms_{};
  std::unordered_map<const PreparedCall*, std::uint32_t> by_call_{};  ///< those that forms_ keeps
  std::map<Key, std::uint32_t> by_key_{};
  std::shared_ptr<StreamLog> stream_log_;
  std::vector<Offset> offsets_{};
  std::string failure_{};
  bool complete_ = false;  ///< the file is more than a name that can be written
};

}  // namespace rondo::trace
