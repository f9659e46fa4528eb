// The GPUs of this machine, as CUDA's driver shows them to this process, and their links.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/cuda/links.h"

namespace rondo::tool {

struct Gpus {
  std::string obstacle{};            ///< why there are none; empty: there are
  std::string remedy{};              ///< what to do about it
  std::vector<std::string> names{};  ///< by number
  std::vector<cuda::Link> links{};   ///< from each GPU to each, row by row

  const cuda::Link& link(std::size_t from, std::size_t to) const {
    return links[from * names.size() + to];
  }
};

/// Loads the driver into this process, for good. Does not throw if there is no GPU.
Gpus find_gpus();

/// A table: each GPU, its name, and how it reaches each of the others.
std::string gpus_text(const Gpus& gpus);
/// The same as JSON: "obstacle", "remedy" and "gpus", each with its "links". "rank" is the driver's
/// order of a machine's links, 0 for the fastest; null if the driver does not tell.
nlohmann::ordered_json gpus_json(const Gpus& gpus);

}  // namespace rondo::tool
