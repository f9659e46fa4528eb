#include "core/communicator/waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "rondo/error.h"

namespace rondo::detail {

void Waker::open() {
  event_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event_) return;
  throw Error(ErrorCode::system,
              "cannot make an eventfd to wake the progress thread: " +
                  std::generic_category().message(errno),
              {.remedy = "raise the limit of open files (ulimit -n)"});
}

void Waker::disarm() {
  // relaxed: a wake() that still sees it costs the next sleep, nothing more.
  asleep_.store(false, std::memory_order_relaxed);
  std::uint64_t rung = 0;
  // Nothing to read is the usual case: the descriptor does not block.
  [[maybe_unused]] const auto size = ::read(event_.get(), &rung, sizeof rung);
}

void Waker::wake() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  // Cannot fail but where 2^64 - 2 wakes are unread, which wake just as well.
  [[maybe_unused]] const auto size = ::write(event_.get(), &one, sizeof one);
}

}  // namespace rondo::detail
