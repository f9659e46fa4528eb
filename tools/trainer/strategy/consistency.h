// Checks that all ranks hold the same parameters, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/model/unit.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// A digest: different bytes give, in all likelihood, different numbers.
std::uint64_t fingerprint(std::span<const std::byte> bytes);

/// Collective. Throws AgreedError that names the first tensor that differs, and the first rank
/// whose copy differs from rank 0's.
void check_replicas(Communicator& world, const Layout& layout, Strategy& strategy,
                    const Machine& machine = host_machine());

}  // namespace rondo::train
