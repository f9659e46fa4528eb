// Sizes as people write them: "8", "64K", "16M", "1G" (powers of 1024, as nccl-tests reads them).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rondo::bench {

/// Bytes; std::nullopt for anything but a non-negative number with an optional K, M or G. A
/// fraction is allowed ("0.5M").
std::optional<std::size_t> parse_size(std::string_view text);

/// "8 B", "64 KB", "16 MB", "1.5 GB": for lines that a person reads.
std::string format_size(std::size_t bytes);

/// The sizes of a sweep: geometric when `factor` > 1, else linear by `step`. At least `minimum`.
/// A step of 0 without a factor gives `minimum` alone.
std::size_t next_size(std::size_t size, std::size_t factor, std::size_t step);

}  // namespace rondo::bench
