// CRC32C (Castagnoli, RFC 3720): finds every change of up to 32 bits in a row, and of any others
// all but one in four thousand million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo {

/// Of at most 2 GiB. By ISA-L, which uses what the processor has for it. Never throws.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace rondo
