#include "core/transport/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

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

/// Field 22 of /proc/self/stat, in clock ticks since boot: tells a process from a later one that
/// was given the same pid. The name in field 2 may hold blanks, so counting starts behind it.
std::uint64_t start_time() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number < 22; ++number) fields >> field;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace

HostInfo this_host(std::string_view host_id) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  HostInfo info;
  info.hostname = name.data();
  info.host = host_id.empty() ? machine_identity(info.hostname) : std::string(host_id);
  info.pid = ::getpid();
  info.process = (start_time() << 22) ^ static_cast<std::uint64_t>(info.pid);
  return info;
}

}  // namespace rondo
