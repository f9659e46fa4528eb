#include "core/control/attendance.h"

#include "core/base/awake.h"
#include "core/control/times.h"

namespace rondo::control {

void Attendance::set(const Counts& counts) {
  const std::lock_guard lock(mutex_);
  counts_ = counts;
  changed_.notify_all();
}

void Attendance::note_failure() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
}

bool Attendance::is_over() const {
  const std::lock_guard lock(mutex_);
  return counts_.is_over;
}

void Attendance::let_others_leave(std::chrono::milliseconds linger,
                                  const std::function<void()>& tell) {
  std::unique_lock lock(mutex_);
  const auto are_gone = [&] { return counts_.others == 0; };
  if (lingered_ || wait_awake(changed_, lock, linger, are_gone)) {
    const auto is_settled = [&] { return counts_.present == 0 || counts_.others > 0; };
    wait_awake(changed_, lock, times::farewell, is_settled);
  } else {
    lingered_ = true;
    tell();
    wait_awake(changed_, lock, times::farewell, [&] { return counts_.told; });
  }
}

void Attendance::end(const std::function<void()>& tell) {
  std::unique_lock lock(mutex_);
  if (failed_) changed_.wait_for(lock, times::afterword, [] { return false; });
  if (counts_.present == 0) return;
  tell();
  wait_awake(changed_, lock, times::farewell, [&] { return counts_.present == 0; });
}

}  // namespace rondo::control
