// --nccl: ranks take rondo's libnccl.so.2 for NVIDIA's.
//
// It uses LD_PRELOAD. PyTorch's wheels name the folder of their own copy (DT_RPATH), which
// LD_LIBRARY_PATH does not overrule. A preloaded library does: all calls of linked code go to it,
// even where the program opens the other file as well, as PyTorch does. Only a program that looks
// the functions up in a file that it has opened by its whole path gets past it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::launch {

/// The whole path of the libnccl.so.2 that was built or installed with this program. Throws
/// LaunchError where there is none.
std::string nccl_library();

/// "LD_PRELOAD=library", followed by what is preloaded already.
std::string preload(const std::string& library, const char* present);

/// The variables with which every rank of a node uses the node's first device.
std::vector<std::string> shared_gpu(const char* visible_devices);

/// The libnccl.so.2 that a preload() among the variables names; empty without one.
std::string preloaded_nccl(std::span<const std::string> variables);

}  // namespace rondo::launch
