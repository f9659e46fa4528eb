// Checks of a call's arguments before anything is sent. Private to core/communicator.
#pragma once

#include <cstddef>
#include <string>

#include "core/plan/ragged.h"

namespace rondo::detail {

/// Throws Error{invalid_argument} that says which argument is wrong and how. `in_host_memory`: that
/// the buffers are there can be looked at.
void check_kinds(const Call& call, int rank, int ranks);
void check_call(const Call& call, const void* input, const void* output, int rank, int ranks,
                Counts counts = {}, bool in_host_memory = false);
void check_message(const Call& call, const void* buffer, int peer, int rank, int ranks,
                   bool in_host_memory = false);

/// Buffers from here on are looked at. That costs 0.2 us each.
inline constexpr std::size_t looked_at_bytes = std::size_t{1} << 20;
/// Why so many bytes from there on cannot be this process's; empty: they may be, or are too few to
/// look at both ends. So a wrong count is told before it is a crash.
std::string memory_obstacle(const void* begin, std::size_t bytes);

/// The call with blocks of these counts, checked: as many as there are ranks, and no overflow.
Shaped checked_shape(const Call& call, Counts counts, int rank, int ranks);

}  // namespace rondo::detail
