// NCCL's names: what rondo's settings are there, and the variables that NCCL has.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/config.h"

namespace rondo {

/// NCCL_ALGO in rondo's words: "Ring,Tree", "^tree", "allreduce:tree;broadcast:ring". std::nullopt
/// when a part has no counterpart: half of what was asked for is not what was asked for.
std::optional<std::string> translate_algorithms(const std::string& value);

// NCCL's ways to leave a transport out; RONDO_TRANSPORT wins over them. They return why a value was
// refused, or empty.
std::string leave_out_network(const std::string& value, Config& config);  ///< NCCL_NET
std::string leave_out_shm(const std::string& value, Config& config);      ///< NCCL_SHM_DISABLE

/// Whether a variable is not worth a warning: set by containers, launchers and benchmarks, or true
/// of rondo in any case.
bool is_harmless(std::string_view name);

/// " (did you mean NCCL_DEBUG?)" for a variable that NCCL does not have either and that is near one
/// of its own; else empty.
std::string words_of_what_was_meant(std::string_view name);

}  // namespace rondo
