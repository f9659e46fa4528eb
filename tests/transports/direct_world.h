// What the tests of direct access share: a few ranks' transports in one process.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/transport/direct_access.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"

namespace rondo::testing {

inline constexpr std::size_t board_bytes = 10000;

/// Ranks by the name of their kind of transport.
struct Ranks : World {
  Ranks(const std::string& kind, int ranks) : World({kind, find_transport(kind)}, ranks) {}
};

inline std::string any_kind() { return GENERATE(as<std::string>(), "local", "shm"); }

inline DirectAccess& access(Ranks& ranks, int rank) { return *ranks[rank].direct_access(); }

/// Every rank's control block, once all have it.
inline std::vector<std::byte*> boards(Ranks& world, std::size_t bytes = board_bytes) {
  std::vector<std::byte*> all(world.transports.size());
  world.until([&] {
    bool there = true;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      all[rank] = access(world, static_cast<int>(rank)).board(bytes);
      there &= all[rank] != nullptr;
    }
    return there;
  });
  return all;
}

inline std::byte* map(Ranks& world, int rank, int peer, const Exposed& place, std::size_t bytes) {
  std::byte* mapped = nullptr;
  world.until([&] { return (mapped = access(world, rank).map(peer, place, bytes)) != nullptr; });
  return mapped;
}

inline std::optional<Error> failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// How often memory of rondo is mapped in this process.
inline std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::ptrdiff_t count = 0;
  while (std::getline(maps, line)) count += line.find("rondo-memory") != std::string::npos;
  return count;
}

inline std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace rondo::testing
