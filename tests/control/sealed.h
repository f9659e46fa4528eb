// Control messages that somebody made by hand, or spoiled.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/base/checksum.h"

namespace rondo::test {

/// The frame of a control message, see core/control/message.h, with the checksum that its bytes have:
/// who means harm can reckon it, too.
inline std::string sealed(std::string frame) {
  const auto after = std::string_view(frame).substr(sizeof(std::uint32_t));
  const std::uint32_t checksum = crc32c(std::as_bytes(std::span(after)));
  std::memcpy(frame.data(), &checksum, sizeof(checksum));
  return frame;
}

}  // namespace rondo::test
