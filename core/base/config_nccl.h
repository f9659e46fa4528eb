// NCCL's variables: which of them were set or meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rondo {

/// " (did you mean NCCL_DEBUG?)" for a variable that NCCL does not have either and that is near one
/// of its own; else empty.
std::string words_of_what_was_meant(std::string_view name);

/// A setting's name for words about what was set: "NCCL_SOCKET_IFNAME" where only that is, else
/// "RONDO_SOCKET_IFNAME" itself, which is given.
std::string name_as_set(std::string_view name);
/// The same in given "NAME=VALUE" strings, for tests.
std::string name_as_set(std::string_view name, std::span<const std::string> environment);

}  // namespace rondo
