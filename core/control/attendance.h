// Attendance: which ranks of a world are still at its service, for those that wait for them to go.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace rondo::control {

/// Any thread. `tell` may not call it, but begins what does.
class Attendance {
 public:
  struct Counts {
    int present = 0;       ///< ranks still connected
    int others = 0;        ///< those of them in other processes, to wait for
    bool is_over = false;  ///< all had come, and none is left
    bool told = false;     ///< those that stay know that the service may end
  };
  void set(const Counts& counts);
  /// The meeting has failed.
  void note_failure();
  bool is_over() const;

  /// Waits up to `linger` for the ranks of other processes. If some stay, has them told once, by
  /// `tell`, and waits until they know.
  void let_others_leave(std::chrono::milliseconds linger, const std::function<void()>& tell);
  /// After it: has those that stay told that it is now, by `tell`, and waits until they have gone.
  void end(const std::function<void()>& tell);

 private:
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  Counts counts_{};        ///< under mutex_
  bool lingered_ = false;  ///< under mutex_
  bool failed_ = false;    ///< under mutex_
};

}  // namespace rondo::control
