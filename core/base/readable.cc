#include "core/base/readable.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace rondo {

/// The kernel copies a set of signals from there before it finds that it cannot know what to do
/// with it: EFAULT where it could not, EINVAL where it could. So nothing ever changes.
bool is_readable(const void* address) noexcept {
  constexpr std::uintptr_t set_bytes = 8;
  constexpr int unknown_way = -1;
  const std::uintptr_t word = reinterpret_cast<std::uintptr_t>(address) & ~(set_bytes - 1);
  if (word == 0) return false;  // which would be no set at all
  const int before = errno;
  const bool refused =
      ::syscall(SYS_rt_sigprocmask, unknown_way, word, nullptr, set_bytes) == -1 && errno == EFAULT;
  errno = before;
  return !refused;
}

}  // namespace rondo
