// Whole: the communicator whose calls others carry in steps, as seen by these, its parts. All of them
// fail together, and a log of its own knows all of its collectives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/control/control.h"

namespace rondo::detail {

/// Any thread.
class Whole {
 public:
  /// `rank`, `control`: of the whole. `calls`: a channel of its ranks, whose log has the collectives.
  /// `word`: where streams write the low half of the number of the newest call that is complete, of
  /// those in steps.
  Whole(int rank, std::shared_ptr<ControlChannel> control, std::shared_ptr<ControlChannel> calls,
        std::shared_ptr<std::uint32_t> word);
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

  /// Announces the next collective, and returns its number. `writes`: a stream will write it, as it
  /// is made in steps. Others count as complete once none in steps is under way.
  std::uint64_t begin(Call call, bool writes);
  /// All ranks have made their last calls, or are about to: compares these. What differs is failure().
  void compare();
  /// A part has failed. Waits half a second at most for the whole's own words.
  void fail(const Error& error) noexcept;
  /// Why the parts fail, too. What the log shows comes first: other failures may follow from it.
  std::optional<Error> failure() const;
  /// A part waits for a rank, while a call in steps is under way. Has the ranks' collectives compared,
  /// which may end in failure() soon. `timeout`, `from_program`: for the words of errors.
  void report_stall(bool expired, std::chrono::milliseconds timeout, bool from_program);
  /// There will be no further call.
  void leave() noexcept { calls_->leave(); }

 private:
  void note_complete();
  void note_complete_now();

  const int rank_;
  const std::shared_ptr<std::uint32_t> word_;
  std::mutex mutex_{};
  std::uint64_t begun_ = 0;         ///< under mutex_
  std::uint64_t written_last_ = 0;  ///< the newest that a stream will write; under mutex_
  const std::shared_ptr<ControlChannel> control_;
  const std::shared_ptr<ControlChannel>
      calls_;  ///< goes first: its thread asks this for what is complete
};

}  // namespace rondo::detail
