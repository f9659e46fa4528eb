// Bytes on their way to a descriptor, without ever blocking the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"
#include "tools/rondorun/event_loop.h"

namespace rondo::launch {

/// Keeps what cannot be written yet. The descriptor may be shared with other processes, so it is
/// not made non-blocking: each write follows a poll and is small enough not to block then.
class Writer {
 public:
  /// Writes to a duplicate of `fd`. `broken` is called once, with errno's value, when the other end
  /// is gone or full for good.
  Writer(EventLoop& loop, int fd, std::function<void(int error)> broken = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(std::string_view bytes);
  bool idle() const { return written_ == waiting_.size(); }
  /// Idle, and nobody is still to hear that it is broken.
  bool over() const { return idle() && !*is_to_tell_; }
  /// True when so much waits that its sources should wait as well.
  bool congested() const { return waiting_.size() - written_ > congestion_bytes; }
  bool broken() const { return is_broken_; }
  bool terminal() const { return terminal_; }

 private:
  static constexpr std::size_t congestion_bytes = std::size_t{1} << 18;

  bool writable() const;
  void flush();
  void give_up(int error);

  EventLoop& loop_;
  UniqueFd fd_;
  std::function<void(int error)> broken_;
  bool terminal_;
  bool is_broken_ = false;
  std::shared_ptr<bool> is_to_tell_ = std::make_shared<bool>(false);  ///< the timer outlives this
  std::string waiting_;  ///< bytes before written_ have been written
  std::size_t written_ = 0;
};

}  // namespace rondo::launch
