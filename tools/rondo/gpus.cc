#include "tools/rondo/gpus.h"

#include <dlfcn.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/cuda/contexts.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

using cuda::Reach;

std::string name_of(int device) {
  std::array<char, 128> text{};
  const cuda::Driver* const driver = cuda::find_driver();
  const int status = driver->device_get_name(text.data(), static_cast<int>(text.size()), device);
  return status == cuda::success ? text.data() : "?";
}

Gpus none(const std::string& obstacle, const std::string& remedy) {
  return {.obstacle = obstacle, .remedy = remedy};
}

/// The link's kind, such as "PCIe". A GPU's link to itself is "-".
std::string cell(const cuda::Link& link) {
  return link.reach == Reach::same ? "-" : std::string(cuda::name(link.reach));
}

}  // namespace

Gpus find_gpus() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  const cuda::Driver* const driver = cuda::find_driver();
  if (library == nullptr || driver == nullptr)
    return none("this machine has no libcuda.so.1", "install NVIDIA's driver");
  const auto start = reinterpret_cast<decltype(&cuInit)>(::dlsym(library, "cuInit"));
  if (start == nullptr || driver->missing != nullptr)
    return none("the CUDA driver is older than 11.7's", "install a newer one");
  if (const int status = start(0); status != cuda::success && status != cuda::no_device)
    return none("the CUDA driver does not start: error " + std::to_string(status),
                "look at nvidia-smi and the kernel's log");
  Gpus gpus;
  const int count = cuda::device_count();
  if (count == 0)
    return none("the CUDA driver shows no GPU", "check whether CUDA_VISIBLE_DEVICES hides them");
  for (int device = 0; device < count; ++device) {
    gpus.names.push_back(name_of(device));
    for (int peer = 0; peer < count; ++peer) gpus.links.push_back(cuda::link_between(device, peer));
  }
  return gpus;
}

std::string gpus_text(const Gpus& gpus) {
  if (!gpus.obstacle.empty()) {
    return "No GPU here: " + gpus.obstacle + ".\nTo have one: " + gpus.remedy +
           "\nrondo works without a GPU, on host memory.\n";
  }
  std::vector<std::string> head{"GPU", "NAME"};
  for (std::size_t to = 0; to < gpus.names.size(); ++to)
    head.push_back((to == 0 ? "TO " : "") + std::to_string(to));
  Table table(head.size());
  table.row(head);
  for (std::size_t from = 0; from < gpus.names.size(); ++from) {
    std::vector<std::string> row{std::to_string(from), gpus.names[from]};
    for (std::size_t to = 0; to < gpus.names.size(); ++to) row.push_back(cell(gpus.link(from, to)));
    table.row(std::move(row));
  }
  return table.text();
}

nlohmann::ordered_json gpus_json(const Gpus& gpus) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (std::size_t from = 0; from < gpus.names.size(); ++from) {
    Json links = Json::array();
    for (std::size_t to = 0; to < gpus.names.size(); ++to) {
      if (to == from) continue;
      const cuda::Link& link = gpus.link(from, to);
      links.push_back({{"to", to},
                       {"by", cuda::name(link.reach)},
                       {"rank", link.rank < 0 ? Json(nullptr) : Json(link.rank)}});
    }
    all.push_back({{"number", from}, {"name", gpus.names[from]}, {"links", std::move(links)}});
  }
  return {{"obstacle", gpus.obstacle}, {"remedy", gpus.remedy}, {"gpus", std::move(all)}};
}

}  // namespace rondo::tool
