#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/settings/settings.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/rdma_report.h"

namespace rondo::tool {
namespace {

/// Devices read and write only memory that the process has locked.
std::string memory_text() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {};
  if (limit.rlim_cur == RLIM_INFINITY) return "Locked memory: unlimited.\n";
  return "Locked memory: at most " + std::to_string(limit.rlim_cur >> 10) +
         " KiB a process. If registering fails:\nulimit -l unlimited, or --ulimit memlock=-1 for "
         "a container.\n";
}

void show(bool json) {
  const verbs::Settings settings = verbs::make_settings(read_config().infiniband);
  const verbs::Discovery discovery = verbs::discover();
  if (json) {
    std::printf("%s\n", rdma_json(discovery, settings).dump(2).c_str());
    return;
  }
  std::printf("%s", rdma_text(discovery, settings).c_str());
  if (!discovery.ports.empty()) std::printf("%s", memory_text().c_str());
}

}  // namespace

void add_rdma(CLI::App& program) {
  auto* command = program.add_subcommand(
      "rdma",
      "Lists InfiniBand and RoCE devices, their ports and addresses, and which of them rondo "
      "uses.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "prints JSON, for programs");
  command->callback([json] { show(*json); });
}

}  // namespace rondo::tool
