#include "core/transport/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/base/process_status.h"

namespace rondo {
namespace {

/// Equal for processes that can share memory and reach each other's abstract sockets: the same
/// running kernel and the same network namespace (containers differ in the latter).
std::string machine_identity(const std::string& hostname) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return hostname;
  return boot + "/" + std::to_string(network.st_ino);
}

}  // namespace

HostInfo this_host(std::string_view host_id) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  HostInfo info;
  info.hostname = name.data();
  info.host = host_id.empty() ? machine_identity(info.hostname) : std::string(host_id);
  info.pid = ::getpid();
  // A later process that is given the same pid has another start time.
  const std::uint64_t started = own_status().value_or(ProcessStatus{}).started;
  info.process = (started << 22) ^ static_cast<std::uint64_t>(info.pid);
  return info;
}

}  // namespace rondo
