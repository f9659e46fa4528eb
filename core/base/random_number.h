// Numbers that nobody else draws.
#pragma once

#include <cstdint>

namespace rondo {

/// 64 random bits. Any thread. Throws Error{system} where the kernel gives none.
std::uint64_t random_number();

}  // namespace rondo
