// Windows between processes: offered, asked for, freed.
#include <array>

#include "rondo/memory.h"
#include "tests/transports/direct_world.h"

namespace rondo::testing {

TEST_CASE("direct access: freed windows are counted, and cannot be mapped any more", "[direct]") {
  Ranks world("shm", 2);
  boards(world);
  const std::uint64_t freed = access(world, 1).windows_freed();
  Memory memory = allocate(5000);
  const Exposed place = access(world, 1).expose(memory.data(), 5000);
  CHECK(map(world, 0, 1, place, 5000) != nullptr);
  const std::size_t before = open_descriptors();
  memory = Memory();
  CHECK(open_descriptors() == before - 1);
  CHECK(access(world, 1).windows_freed() == freed + 1);
  access(world, 0).forget(1);
  const auto error = failure([&] { map(world, 0, 1, place, 5000); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK(error->rank() == 0);
  CHECK(error->peer() == 1);
  CHECK(error->message() ==
        "the peer has no window " + std::to_string(place.window) + " (any more)");
  CHECK(!error->remedy().empty());
  // The error was about that window only.
  const Memory other = allocate(5000);
  CHECK(map(world, 0, 1, access(world, 1).expose(other.data(), 5000), 5000) != nullptr);
}

TEST_CASE("direct access: an offered window is there without a question", "[direct]") {
  Ranks world("shm", 3);
  boards(world);
  const Memory memory = allocate(5000);
  const Exposed place = access(world, 1).expose(memory.data(), 5000);
  const std::array<std::int32_t, 1> peers{0};
  access(world, 1).offer(place, peers);
  access(world, 1).offer(place, peers);
  const std::ptrdiff_t before = mappings();
  CHECK(access(world, 0).map(1, place, 5000) != nullptr);  // its owner has made no progress
  CHECK(mappings() == before + 1);                         // offered twice, sent once
  CHECK(access(world, 2).map(1, place, 5000) == nullptr);  // a rank without an offer asks
  CHECK(map(world, 2, 1, place, 5000) != nullptr);
}

TEST_CASE("direct access: a freed window is unmapped and no other", "[direct]") {
  Ranks world("shm", 2);
  boards(world);
  const bool offered = GENERATE(true, false);
  CAPTURE(offered);
  Memory first = allocate(5000);
  const Memory second = allocate(6000);
  const std::array<std::int32_t, 1> peers{0};
  const auto shown = [&](const Memory& memory) {
    const Exposed place = access(world, 1).expose(memory.data(), memory.size());
    if (offered) access(world, 1).offer(place, peers);
    return place;
  };
  CHECK(map(world, 0, 1, shown(first), first.size()) != nullptr);
  const Exposed kept = shown(second);
  std::byte* const mapped = map(world, 0, 1, kept, second.size());
  const std::ptrdiff_t before = mappings();
  first = Memory();
  CHECK(mappings() == before - 1);
  access(world, 1).windows_freed();
  access(world, 0).forget(1);
  CHECK(mappings() == before - 2);
  CHECK(access(world, 0).map(1, kept, second.size()) == mapped);
}

TEST_CASE("direct access: peers unmap all freed windows once they are told of them", "[direct]") {
  Ranks world("shm", 2);
  boards(world);
  const std::array<std::int32_t, 1> peers{0};
  const std::ptrdiff_t before = mappings();
  {
    // More than a socket holds, with nobody reading.
    std::vector<Memory> memories;
    for (int i = 0; i < 500; ++i) {
      memories.push_back(allocate(4096));
      access(world, 1).offer(access(world, 1).expose(memories.back().data(), 4096), peers);
    }
  }
  access(world, 1).windows_freed();
  const Memory last = allocate(4096);
  const Exposed place = access(world, 1).expose(last.data(), 4096);
  access(world, 1).offer(place, peers);
  std::byte* const mapped = map(world, 0, 1, place, 4096);
  // progress() sends what the socket did not take.
  world.until([&] { return mappings() == before + 2; });
  CHECK(access(world, 0).map(1, place, 4096) == mapped);
}

TEST_CASE("direct access: a place beyond its window is refused", "[direct]") {
  Ranks world("shm", 2);
  boards(world);
  const Memory memory = allocate(8192);
  const Exposed place = access(world, 1).expose(memory.data(), 8192);
  CHECK(map(world, 0, 1, place, 8192) != nullptr);
  const auto check = [&](std::uint64_t address, std::size_t bytes) {
    const auto error = failure(
        [&] { access(world, 0).map(1, {.address = address, .window = place.window}, bytes); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::invalid_argument);
    CHECK(error->peer() == 1);
  };
  check(place.address, 8193);
  check(place.address + 8192, 1);
  check(place.address - 1, 1);
  check(place.address + 1, ~std::size_t{0});
}

TEST_CASE("direct access: a question and an offer that cross do no harm", "[direct]") {
  Ranks world("shm", 2);
  boards(world);
  const Memory memory = allocate(8192);
  const Exposed place = access(world, 1).expose(memory.data(), 8192);
  CHECK(access(world, 0).map(1, place, 8192) == nullptr);  // asked
  const std::array<std::int32_t, 1> peers{0};
  access(world, 1).offer(place, peers);
  const std::ptrdiff_t before = mappings();
  std::byte* const mapped = access(world, 0).map(1, place, 8192);
  CHECK(mapped != nullptr);
  for (int i = 0; i < 1000; ++i) world.progress();
  CHECK(access(world, 0).map(1, place, 8192) == mapped);
  CHECK(mappings() == before + 1);
}

TEST_CASE("direct access: many windows in any order", "[direct]") {
  Ranks world("shm", 3);
  boards(world);
  std::vector<Memory> memories;
  for (int i = 0; i < 50; ++i) memories.push_back(allocate(4096 * static_cast<std::size_t>(i + 1)));
  for (int i = 0; i < 50; ++i) {
    const Memory& memory = memories[static_cast<std::size_t>(i * 7 % 50)];
    const Exposed place = access(world, 2).expose(memory.data(), memory.size());
    static_cast<std::byte*>(memory.data())[memory.size() - 1] = static_cast<std::byte>(i);
    const std::byte* const mapped = map(world, i % 2, 2, place, memory.size());
    CHECK(mapped[memory.size() - 1] == static_cast<std::byte>(i));
  }
}

}  // namespace rondo::testing
