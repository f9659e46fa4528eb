// Control messages that somebody made by hand, or spoiled.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/base/checksum.h"

namespace rondo::test {

inline void append_number(std::string& bytes, std::uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// The frame of a control message, see core/control/message.h, whose header says `length`. Its checksums
/// are right: who means harm can reckon them, too.
inline std::string sealed(std::string_view kind_and_fields, std::uint32_t length) {
  std::string frame;
  append_number(frame, length);
  append_number(frame, crc32c(std::as_bytes(std::span(kind_and_fields))));
  append_number(frame, crc32c(std::as_bytes(std::span(std::string_view(frame)))));
  return frame.append(kind_and_fields);
}

}  // namespace rondo::test
