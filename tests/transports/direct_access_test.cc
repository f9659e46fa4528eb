// The contract of core/transport/direct_access.h, for every transport that offers it.
#include "core/transport/direct_access.h"

#include <atomic>
#include <cstring>

#include "rondo/error.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/transports/direct_world.h"

namespace rondo::testing {

TEST_CASE("direct access: transports that share memory offer it, networks do not", "[direct]") {
  for (const TransportKind& kind : transport_kinds()) {
    if (!why_not_here(kind).empty()) continue;
    CAPTURE(kind.name);
    Ranks world(std::string(kind.name), 2);
    const bool memory = kind.name == "local" || kind.name == "shm";
    CHECK((world[0].direct_access() != nullptr) == memory);
  }
}

TEST_CASE("direct access: the control block is one, zeroed, aligned and stays", "[direct]") {
  const std::string kind = any_kind();
  const int ranks = GENERATE(1, 2, 5, 70);
  CAPTURE(kind, ranks);
  Ranks world(kind, ranks);
  const std::vector<std::byte*> all = boards(world);
  for (const std::byte* board : all) {
    CHECK(address_of(board) % 4096 == 0);
    CHECK(std::count(board, board + board_bytes, std::byte{0}) == board_bytes);
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank][rank] = std::byte{1};
    all[rank][board_bytes - 1 - rank] = std::byte{2};
  }
  for (const std::byte* board : all) {
    CHECK(std::count(board, board + ranks, std::byte{1}) == ranks);
    CHECK(std::count(board + board_bytes - ranks, board + board_bytes, std::byte{2}) == ranks);
  }
  CHECK(boards(world) == all);
}

TEST_CASE("direct access: the control block outlives ranks that left", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  Ranks world(kind, 3);
  const std::vector<std::byte*> all = boards(world);
  all[0][5] = std::byte{9};
  world.transports[0].reset();
  CHECK(all[1][5] == std::byte{9});
  CHECK(access(world, 1).board(board_bytes) == all[1]);
  world.until([&] { return failure([&] { access(world, 1).check(0); }).has_value(); });
  const auto lost = failure([&] { access(world, 1).check(0); });
  CHECK(lost->code() == ErrorCode::peer_lost);
  CHECK(lost->rank() == 1);
  CHECK(lost->peer() == 0);
  CHECK(!lost->remedy().empty());
  access(world, 1).check(2);
  access(world, 1).wake(0);  // a bell whose owner left may be rung
}

TEST_CASE("direct access: control blocks of different sizes are an error", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  Ranks world(kind, 2);
  std::optional<Error> error;
  world.until([&] {
    for (int rank = 1; rank >= 0 && !error; --rank) {
      error = failure([&] { access(world, rank).board(rank == 0 ? 4096U : 8192U); });
    }
    return error.has_value();
  });
  CHECK(error->code() == ErrorCode::internal);
  CHECK(error->message().find("4096") != std::string::npos);
  CHECK(error->message().find("8192") != std::string::npos);
}

TEST_CASE("direct access: a mapped window is the owner's memory", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  Ranks world(kind, 2);
  boards(world);
  const Memory memory = allocate(100000);
  auto* const own = static_cast<std::byte*>(memory.data());
  const Exposed place = access(world, 1).expose(own + 1000, 5000);
  CHECK(place.window != 0);
  CHECK(place.address == address_of(own + 1000));
  std::byte* const mapped = map(world, 0, 1, place, 5000);
  own[1000] = std::byte{3};
  CHECK(mapped[0] == std::byte{3});
  mapped[4999] = std::byte{4};
  CHECK(own[5999] == std::byte{4});
  // Another place of a window that is mapped is there at once.
  const Exposed other = access(world, 1).expose(own, 100000);
  CHECK(access(world, 0).map(1, other, 100000) == mapped - 1000);
  access(world, 0).forget(1);
  std::byte* const again = map(world, 0, 1, place, 5000);
  CHECK(again[0] == std::byte{3});
}

TEST_CASE("direct access: both ends map the other's windows at once", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  constexpr int ranks = 3;
  Ranks world(kind, ranks);
  std::vector<Memory> memories;
  std::vector<Exposed> places;
  for (int rank = 0; rank < ranks; ++rank) {
    memories.push_back(allocate(4096));
    places.push_back(access(world, rank).expose(memories.back().data(), 4096));
    std::memset(memories.back().data(), rank + 1, 4096);
  }
  on_all_ranks(ranks, [&](int rank) {
    DirectAccess& own = access(world, rank);
    std::byte* board = nullptr;
    wait_until([&] {
      world[rank].progress();
      return (board = own.board(board_bytes)) != nullptr;
    });
    for (int peer = 0; peer < ranks; ++peer) {
      std::byte* mapped = nullptr;
      wait_until([&] {
        world[rank].progress();
        const auto at = static_cast<std::size_t>(peer);
        return peer == rank || (mapped = own.map(peer, places[at], 4096)) != nullptr;
      });
      if (peer != rank && mapped[4095] != static_cast<std::byte>(peer + 1)) {
        throw std::runtime_error("another rank's bytes");
      }
    }
    // A rank that has what it wants stays until the others have it too: they need its progress.
    auto& done = *reinterpret_cast<std::atomic<int>*>(board);
    done.fetch_add(1, std::memory_order_acq_rel);
    wait_until([&] {
      world[rank].progress();
      return done.load(std::memory_order_acquire) == ranks;
    });
  });
  SUCCEED("every rank saw every other's bytes");
}

TEST_CASE("direct access: ordinary memory is no window between processes", "[direct]") {
  Ranks world("shm", 2);
  std::vector<std::byte> ordinary(100);
  const Exposed place = access(world, 0).expose(ordinary.data(), 100);
  CHECK(place.window == 0);
  CHECK(place.address == address_of(ordinary.data()));
  const Memory memory = allocate(100);
  CHECK(access(world, 0).expose(memory.data(), 101).window == 0);
}

TEST_CASE("direct access: wake() ends the sleep of a rank", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  Ranks world(kind, 2);
  boards(world);
  for (int rank = 0; rank < 2; ++rank) {
    Doorbell& bell = *world.doorbells[static_cast<std::size_t>(rank)];
    bell.arm();
    access(world, 1 - rank).wake(rank);
    std::vector<pollfd> none;
    bell.sleep(std::chrono::seconds(60), none);  // rung already: returns at once
    CHECK_FALSE(bell.is_armed());
  }
}

TEST_CASE("direct access: control blocks and windows leave no descriptor behind", "[direct]") {
  const std::string kind = any_kind();
  CAPTURE(kind);
  const std::size_t before = open_descriptors();
  {
    Ranks world(kind, 4);
    boards(world);
    const Memory memory = allocate(4096);
    map(world, 3, 1, access(world, 1).expose(memory.data(), 4096), 4096);
    map(world, 1, 3, access(world, 3).expose(memory.data(), 4096), 4096);
  }
  CHECK(open_descriptors() == before);
}

}  // namespace rondo::testing
