#include "core/trace/stream_log.h"

#include <algorithm>
#include <array>

namespace rondo::trace {

std::string_view name(Way way) {
  constexpr std::array<std::string_view, 4> names{"between-devices", "together", "through-host",
                                                  "hierarchical"};
  return names[static_cast<std::size_t>(way)];
}

StreamLog::StreamLog(std::size_t limit) : limit_(std::max<std::size_t>(1, limit)) {}

std::size_t StreamLog::add(const StreamCall& call) {
  const std::scoped_lock lock(mutex_);
  if (calls_.size() == limit_) {
    calls_.pop_front();
    ++lost_;
  }
  calls_.push_back(call);
  return lost_ + calls_.size() - 1;
}

/// With the mutex held.
StreamCall* StreamLog::find(std::size_t number) {
  return number < lost_ ? nullptr : &calls_[number - lost_];
}

void StreamLog::note_begun(std::size_t number, std::int64_t time) {
  const std::scoped_lock lock(mutex_);
  if (StreamCall* const call = find(number)) call->begun = time;
}

void StreamLog::note_completed(std::size_t number, std::int64_t time) {
  const std::scoped_lock lock(mutex_);
  if (StreamCall* const call = find(number)) call->completed = time;
}

std::vector<StreamCall> StreamLog::calls() const {
  const std::scoped_lock lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

std::size_t StreamLog::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

}  // namespace rondo::trace
