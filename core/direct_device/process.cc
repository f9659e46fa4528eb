#include "core/direct_device/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/process_status.h"

namespace rondo::direct_device {

Process Process::mine() { return Process{.number = ::getpid(), .counted = pid_namespace()}.seen(); }

Process Process::seen() const {
  Process found = *this;
  if (counted != pid_namespace()) return found;
  if (const auto status = status_of(number)) found.started = status->started;
  return found;
}

bool Process::lives() const {
  if (counted != pid_namespace()) return true;
  if (const auto status = status_of(number))
    return !status->has_ended() && (started == 0 || status->started == started);
  return ::kill(number, 0) == 0 || errno != ESRCH;  // /proc may hide what is there
}

}  // namespace rondo::direct_device
