#include "core/base/numa.h"

#include <sched.h>

#include <fstream>
#include <string>
#include <system_error>

namespace rondo {
namespace {

/// The kernel links each processor's folder to its node's: "cpu3/node0".
std::string node_of(const std::filesystem::path& processor) {
  std::error_code ignored;  // no such folder: nothing is known
  for (const auto& entry : std::filesystem::directory_iterator(processor, ignored)) {
    const std::string name = entry.path().filename();
    if (name.size() > 4 && name.starts_with("node")) return name.substr(4);
  }
  return {};
}

}  // namespace

int process_numa_node(const std::filesystem::path& processors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return -1;
  std::string node;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    const auto folder = processors / ("cpu" + std::to_string(processor));
    std::error_code ignored;
    if (node.empty())
      node = node_of(folder);
    else if (!std::filesystem::exists(folder / ("node" + node), ignored))
      return -1;
    if (node.empty()) return -1;
  }
  const bool is_number =
      !node.empty() && node.size() < 6 && node.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoi(node) : -1;
}

int device_numa_node(const std::filesystem::path& device) {
  int node = -1;
  std::ifstream(device / "numa_node") >> node;
  return node < 0 ? -1 : node;
}

}  // namespace rondo
