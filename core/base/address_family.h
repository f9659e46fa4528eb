// Which of a network interface's addresses are used, as the environment says.
#pragma once

#include <cstdint>

namespace rondo {

enum class AddressFamily : std::uint8_t { any, v4, v6 };

}  // namespace rondo
