// --nccl: ranks take rondo's libnccl.so.2 for NVIDIA's.
//
// It uses LD_PRELOAD. PyTorch's wheels name the folder of their own copy (DT_RPATH), which
// LD_LIBRARY_PATH does not overrule. A preloaded library of the same SONAME does: the other file is
// not even opened. Only a program that opens a file by its whole path gets past it. rondorun looks
// for such files while the job runs.
#pragma once

#include <sys/types.h>

#include <istream>
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

/// Files named libnccl.so* in the text of a /proc/PID/maps that are not `library`, each once.
std::vector<std::string> other_nccl(std::istream& maps, std::string_view library);

/// What to tell the user where one of the processes has such a file; empty otherwise.
std::string wrong_library(std::span<const pid_t> processes, std::string_view library);

}  // namespace rondo::launch
