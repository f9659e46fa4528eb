#include "core/base/checksum.h"

#include <isa-l/crc.h>

namespace rondo {

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  // ISA-L's address is not const, though it only reads; and it leaves both inversions to callers.
  auto* const begin = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
  return ~::crc32_iscsi(begin, static_cast<int>(bytes.size()), ~0U);
}

}  // namespace rondo
