#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/rondo/commands.h"
#include "tools/rondo/gpus.h"

namespace rondo::tool {

void add_gpus(CLI::App& program) {
  auto* command = program.add_subcommand(
      "gpus",
      "Lists the GPUs that CUDA's driver shows, and how each reaches the others' memory: by "
      "NVLink,\n"
      "by PCIe, or not at all (none: data between them passes through the host's memory).");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "prints JSON, for programs");
  command->callback([json] {
    const Gpus gpus = find_gpus();
    std::printf("%s", *json ? (gpus_json(gpus).dump(2) + "\n").c_str() : gpus_text(gpus).c_str());
  });
}

}  // namespace rondo::tool
