// How much memory could still be had: by the machine, and by the control groups (cgroups) that
// containers and batch systems put processes into.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace rondo {

struct Available {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< the most where nothing is known
  std::string group{};  ///< the control group whose limit it is; empty: the machine's memory
};

/// The least of what the machine and each control group of this process, up to the outermost one
/// that it can see, would still give. What the kernel can take back (cached files, by swapping)
/// counts as free: what is more cannot be had, what is less may still be taken by others first.
/// Reads proc and sys under `root`; never throws Error.
Available available_memory(const std::filesystem::path& root = "/");

}  // namespace rondo
