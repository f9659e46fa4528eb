#include "tools/rondorun/writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {

Writer::Writer(EventLoop& loop, int fd, std::function<void(int error)> broken)
    : loop_(loop),
      fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)),
      broken_(std::move(broken)),
      terminal_(::isatty(fd) == 1) {
  if (!fd_) throw system_error("cannot duplicate a descriptor");
  loop_.watch(
      fd_.get(), POLLOUT, [this] { flush(); }, [this] { return !idle(); });
}

Writer::~Writer() { loop_.forget(fd_.get()); }

void Writer::write(std::string_view bytes) {
  if (is_broken_) return;
  waiting_.append(bytes);
  flush();
}

bool Writer::writable() const {
  pollfd descriptor{fd_.get(), POLLOUT, 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

void Writer::flush() {
  while (!idle() && writable()) {
    // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
    const std::size_t size = std::min<std::size_t>(waiting_.size() - written_, PIPE_BUF);
    const ssize_t count = ::write(fd_.get(), waiting_.data() + written_, size);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count < 0) return give_up(errno);
    written_ += static_cast<std::size_t>(count);
  }
  if (idle() || written_ > congestion_bytes) {
    waiting_.erase(0, written_);
    written_ = 0;
  }
}

void Writer::give_up(int error) {
  is_broken_ = true;
  waiting_.clear();
  written_ = 0;
  if (!broken_) return;
  *is_to_tell_ = true;
  loop_.after(std::chrono::milliseconds(0), [broken = broken_, is_to_tell = is_to_tell_, error] {
    *is_to_tell = false;
    broken(error);
  });
}

}  // namespace rondo::launch
