// Runs teams of the device executor on a weak memory (weak_memory.h), in an order that a seed draws.
// Equal seeds give equal runs. The caller's source is compiled with RONDO_DEVICE_MEMORY.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "tests/device/host_team.h"
#include "tests/device/simulated.h"

namespace rondo::device::test {

/// A place in device code that orders memory.
struct OrderedPlace {
  enum class Kind { acquire, release, barrier, vote };

  std::string file{};
  std::string function{};
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  Kind kind = Kind::acquire;

  auto operator<=>(const OrderedPlace&) const = default;
  /// Such as "bulk.h publish: release".
  std::string words() const;
};

struct WeakRun {
  std::uint64_t seed = 0;
  /// An acquire or a release here is relaxed. A barrier is left out, and so is a vote's. Null:
  /// nothing is weakened.
  const OrderedPlace* weakened = nullptr;
  bool tears = false;                        ///< loads of words are two of their halves
  std::set<OrderedPlace>* places = nullptr;  ///< not null: gets those that were passed
};

/// Runs `work(team, number)` for teams 0 to teams - 1 of `threads` threads each. Says what was wrong:
/// a race, or threads that waited for each other for ever. Empty: nothing.
std::string run_weakly(const WeakRun& run, std::uint32_t teams, std::uint32_t threads,
                       const std::function<void(HostTeam&, std::uint32_t)>& work);

}  // namespace rondo::device::test
