#include "transports/shm/reach.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <sstream>
#include <system_error>

#include "core/base/process_status.h"
#include "rondo/error.h"

namespace rondo::shm {
namespace {

// The kernel moves less than 2 GiB at once.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

/// One system call: bytes moved, or -1 with errno.
ssize_t read_once(pid_t pid, std::uint64_t there, std::byte* here, std::size_t bytes) {
  const iovec local{here, bytes};
  // NOLINTNEXTLINE: an address of the other process, which only the kernel follows.
  const iovec remote{reinterpret_cast<void*>(there), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

[[noreturn]] void throw_refusal(const Reached& process, int reason) {
  if (reason == ESRCH) {
    throw Error(ErrorCode::peer_lost, "the peer process ended",
                {.rank = process.rank,
                 .peer = process.peer,
                 .remedy = "look at that rank's own output for why"});
  }
  throw Error(
      ErrorCode::system,
      "the kernel refuses to read from the peer's memory: " +
          std::generic_category().message(reason),
      {.rank = process.rank,
       .peer = process.peer,
       .remedy = reason == EFAULT ? "check that the peer's buffers are as long as its call says"
                                  : "allow ptrace between the ranks, or buffers from "
                                    "rondo::allocate()"});
}

}  // namespace

ReachProbe::ReachProbe() : number_(std::make_unique<std::uint64_t>()) {
  std::random_device random;
  *number_ = (std::uint64_t{random()} << 32) | random();
  address_ = {.pid_namespace = rondo::pid_namespace(),
              .pid = ::getpid(),
              .probe = reinterpret_cast<std::uintptr_t>(number_.get()),
              .value = *number_};
}

std::string to_text(const ReachAddress& address) {
  std::ostringstream text;
  text << std::hex << address.pid_namespace << ' ' << address.pid << ' ' << address.probe << ' '
       << address.value;
  return text.str();
}

ReachAddress parse_reach(const std::string& text) {
  std::istringstream words(text);
  ReachAddress address;
  words >> std::hex >> address.pid_namespace >> address.pid >> address.probe >> address.value;
  return words ? address : ReachAddress();
}

bool reaches(const ReachAddress& from, const ReachAddress& to) {
  if (to.pid <= 0 || to.probe == 0 || from.pid_namespace != to.pid_namespace) return false;
  std::uint64_t value = 0;
  const ssize_t got =
      read_once(to.pid, to.probe, reinterpret_cast<std::byte*>(&value), sizeof(value));
  return got == sizeof(value) && value == to.value;
}

void read_from(const Reached& process, std::uint64_t there, std::span<std::byte> into) {
  for (std::size_t done = 0; done < into.size();) {
    const std::size_t part = std::min(into.size() - done, most_at_once);
    const ssize_t got = read_once(process.pid, there + done, into.data() + done, part);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0) {
      throw_refusal(process, EFAULT);
    } else if (errno != EINTR) {
      throw_refusal(process, errno);
    }
  }
}

}  // namespace rondo::shm
