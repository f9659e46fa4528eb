// How much memory could still be had: from the machine, and within the control groups (cgroups)
// that containers and batch systems put processes into.
#pragma once

#include <filesystem>

#include "rondo/memory.h"

namespace rondo {

/// rondo/memory.h's, reading proc and sys under `root`.
Available available_memory(const std::filesystem::path& root);

}  // namespace rondo
