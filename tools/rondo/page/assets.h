// The page's sources (web/, lessons/), embedded in the program when it is built.
#pragma once

#include <span>
#include <string_view>

namespace rondo::tool {

struct Asset {
  std::string_view name;  ///< path below tools/rondo/page, e.g. "web/stage.js"
  std::string_view text;
};

/// The order is that of tools/rondo/page/CMakeLists.txt. Scripts must keep it.
std::span<const Asset> assets();

/// Throws Error{internal} for a name that is not there.
std::string_view asset(std::string_view name);

}  // namespace rondo::tool
