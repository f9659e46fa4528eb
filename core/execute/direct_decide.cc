// What all ranks decide alike, having the same announcements before them: how the memory of an
// exposed call is reached. Part of DirectEngine.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/log.h"
#include "core/execute/direct.h"

namespace rondo::detail {
namespace {

/// Calls whose buffers outgrow the caches write past them (kernels_speed shows from where on).
constexpr std::size_t streaming_bytes = std::size_t{16} << 20;

}  // namespace

void DirectEngine::decide() {
  settle_contest();
  const auto in_windows = [](const Announcement& a) { return a.in_windows != 0; };
  if (std::all_of(announcements_.begin(), announcements_.end(), in_windows)) {
    part_ = &call_->windows;
    staged_ = false;
  } else if (!call_->staged) {
    copies_ = by_copies();
    by_messages_ = !copies_;
  }
  if (copies_) staging_.resize((others_.size() + 1) * copied_slice_bytes);
  streaming_ = !staged_ && part().bytes() >= streaming_bytes;
}

bool DirectEngine::by_copies() {
  if (call_->ordinary != OrdinaryMemory::measured) return call_->ordinary == OrdinaryMemory::copies;
  contested_ = {operation_->prepared->call.collective, part().bytes()};
  way_ = contest_.next(contested_);
  timed_ = Timed::running;
  began_ = std::chrono::steady_clock::now();
  return way_ == Contest::Way::copies;
}

/// A call's clock runs from when everybody is there: late ranks do not count.
void DirectEngine::stop_clock() {
  const auto took = std::chrono::steady_clock::now() - began_;
  const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  nanoseconds_ = static_cast<std::uint32_t>(std::min<std::int64_t>(whole, most));
  timed_ = Timed::known;
}

/// A call takes as long as on its slowest rank.
void DirectEngine::settle_contest() {
  if (std::exchange(timed_, Timed::nothing) != Timed::known) return;
  std::uint32_t slowest = 0;
  for (const Announcement& rank : announcements_) slowest = std::max(slowest, rank.nanoseconds);
  if (!contest_.record(contested_, way_, slowest) || rank_ != 0 || !log_enabled(LogLevel::info))
    return;
  const auto microseconds = [&](Contest::Way way) {
    return std::to_string(contest_.nanoseconds(contested_, way) / 1000) + " us";
  };
  const bool copies = contest_.faster(contested_) == Contest::Way::copies;
  log(LogLevel::info, rank_,
      std::string(name(contested_.collective)) + " of about " + std::to_string(contested_.bytes) +
          " B in ordinary memory: " + microseconds(Contest::Way::messages) + " by messages, " +
          microseconds(Contest::Way::copies) + " by the kernel's copies; " +
          (copies ? "copies" : "messages") + " from here on");
}

}  // namespace rondo::detail
