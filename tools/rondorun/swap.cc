#include "tools/rondorun/swap.h"

#include <filesystem>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

constexpr std::string_view file_name = "libnccl.so.2";
constexpr std::string_view variable = "LD_PRELOAD=";

bool is_nccl(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return path.starts_with('/') && name.starts_with("libnccl.so");
}

}  // namespace

std::string nccl_library() {
  std::error_code problem;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
  const auto prefix = program.parent_path().parent_path();
  std::string looked;
  for (const char* folder : {"lib/nccl", RONDO_LIBRARY_FOLDER "/rondo/nccl"}) {
    const auto path = prefix / folder / file_name;
    if (std::filesystem::exists(path, problem))
      return std::filesystem::canonical(path, problem).string();
    looked += "\n  " + path.string();
  }
  throw LaunchError(status_failure,
                    "--nccl: rondo's libnccl.so.2 is not beside this program; looked for:" +
                        looked + "\nTry: tools/build, or cmake --install");
}

std::string preload(const std::string& library, const char* present) {
  const std::string before = present == nullptr ? "" : present;
  return std::string(variable) + library + (before.empty() ? "" : ":" + before);
}

std::vector<std::string> shared_gpu(const char* visible_devices) {
  const std::string visible = visible_devices == nullptr ? "0" : visible_devices;
  return {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=" + visible.substr(0, visible.find(','))};
}

std::string preloaded_nccl(std::span<const std::string> variables) {
  for (const std::string& one : variables) {
    if (!one.starts_with(variable)) continue;
    const std::string first = one.substr(variable.size(), one.find(':') - variable.size());
    if (is_nccl(first)) return first;
  }
  return {};
}

}  // namespace rondo::launch
