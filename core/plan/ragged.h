// Calls whose blocks differ in size: what their counts make of a Call, and where the blocks lie.
//
// The counts travel beside the Call, which holds a fingerprint of them. So ranks that disagree
// about counts make different calls, and every message and every comparison shows that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/control/call.h"
#include "core/schedule/layout.h"

namespace rondo {

/// Elements of each block, by rank. Empty: all blocks have Call::count.
using Counts = std::span<const std::size_t>;

/// A call and its counts, which must live as long as it does.
struct Shaped {
  Call call{};
  Counts counts{};
};

/// The call with blocks of these counts, whose sum must fit a size_t. Equal ones make an ordinary
/// call, without counts: it is prepared, chosen and compared as if there were no other kind.
Shaped shape(Call call, Counts counts);

/// The fields of `part`, a call on some elements of each block of `whole`, so that ranks that
/// disagree about the whole call's counts disagree about this one, too. The counts of a part may be
/// equal.
void mark_as_part(Call& part, const Call& whole, std::size_t number);

/// Where a call's chunks lie.
Partition partition_of(const Call& call, Counts counts, const Layout& layout);

/// The elements of the index space that a rank's buffer holds.
struct HeldElements {
  std::size_t begin = 0;
  std::size_t count = 0;
};
HeldElements held_elements(const Call& call, Counts counts, Buffer buffer, int rank, int ranks);

}  // namespace rondo
