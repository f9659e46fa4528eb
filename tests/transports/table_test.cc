// Doorbells, default slot sizes, the table of transports, and what transports leave behind.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/transport/slot_ring.h"
#include "tests/catch.h"
#include "tests/transports/world.h"

namespace rondo::testing {

namespace {

std::unique_ptr<PeerDoorbell> passed(const Doorbell& bell) {
  std::vector<UniqueFd> copies;
  for (const int descriptor : bell.descriptors()) copies.emplace_back(::dup(descriptor));
  return std::make_unique<PeerDoorbell>(copies);
}

}  // namespace

TEST_CASE("a doorbell that nobody rings lets its owner go in time", "[transports]") {
  const bool pollable = GENERATE(false, true);
  CAPTURE(pollable);
  Doorbell bell;
  if (pollable) bell.make_pollable();
  const auto peers = passed(bell);
  for (int time = 0; time < 2; ++time) {  // a bell that was rung is silent again
    std::vector<pollfd> descriptors;
    bell.arm();
    CHECK(bell.is_armed());
    bell.sleep(std::chrono::milliseconds(1), descriptors);
    bell.disarm();
    for (const bool own : {false, true}) {
      descriptors.clear();
      bell.arm();
      own ? bell.interrupt() : peers->ring();
      bell.sleep(std::chrono::seconds(60), descriptors);  // rung already: returns at once
      CHECK_FALSE(bell.is_armed());
      bell.disarm();
    }
  }
}

TEST_CASE("a pollable doorbell is heard beside descriptors, and they beside it", "[transports]") {
  Doorbell bell;
  bell.make_pollable();
  const auto peers = passed(bell);
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reads(ends[0]);
  const UniqueFd writes(ends[1]);
  const auto sleep = [&] {
    std::vector<pollfd> descriptors{{.fd = reads.get(), .events = POLLIN, .revents = 0}};
    bell.sleep(std::chrono::seconds(60), descriptors);
    bell.disarm();
    return descriptors[0].revents != 0;
  };
  bell.arm();
  std::thread peer([&] { peers->ring(); });
  CHECK_FALSE(sleep());
  peer.join();
  bell.arm();
  REQUIRE(::write(writes.get(), "x", 1) == 1);
  CHECK(sleep());
}

TEST_CASE("what is no doorbell is refused", "[transports]") {
  std::vector<UniqueFd> nothing;
  CHECK_THROWS_AS(PeerDoorbell(nothing), Error);
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  std::vector<UniqueFd> pipe;
  pipe.emplace_back(ends[0]);
  pipe.emplace_back(ends[1]);
  CHECK_THROWS_AS(PeerDoorbell(pipe), Error);
}

TEST_CASE("default slots respect the memory limits", "[transports]") {
  for (const std::size_t slots : {std::size_t{3}, std::size_t{16}, std::size_t{33}}) {
    for (int ranks = 1; ranks <= 2048; ranks *= 2) {
      const std::size_t bytes = default_slot_bytes(ranks, std::size_t{256} << 10, slots);
      CAPTURE(slots, ranks, bytes);
      CHECK(bytes >= 4096);
      CHECK(bytes * slots * 8 <= peer_channel_limit);
      if (slots <= 16) {
        CHECK(bytes * slots * static_cast<std::size_t>(ranks - 1) <= rank_channel_limit);
      }
    }
  }
  TransportSettings settings{.ranks = 2, .slot_bytes = 1000};
  CHECK(choose_slot_bytes(settings, 65536, 16) == 1024);
  CHECK(choose_slot_bytes({.ranks = 4096}, 65536, 16) < 65536);
  CHECK(choose_slot_bytes_on_host({.ranks = 4096, .on_host = 8}, 65536, 16) == 65536);
  CHECK(choose_slot_bytes_on_host({.ranks = 4096}, 65536, 16) ==
        choose_slot_bytes({.ranks = 4096}, 65536, 16));
}

TEST_CASE("the table: names, order and obstacles", "[transports]") {
  std::string names;
  for (const TransportKind& kind : transport_kinds()) names += std::string(kind.name) + " ";
  CHECK(names == "local shm verbs tcp ");
  CHECK(find_transport("carrier pigeon") == nullptr);
  const HostInfo here{.host = "a", .hostname = "node1", .process = 1, .pid = 10};
  const HostInfo process{.host = "a", .hostname = "node1", .process = 2, .pid = 11};
  const HostInfo machine{.host = "b", .hostname = "node2", .process = 1, .pid = 10};
  auto obstacle = [](std::string_view name, const HostInfo& from, const HostInfo& to) {
    return find_transport(name)->obstacle(from, to);
  };
  CHECK(obstacle("local", here, here).empty());
  CHECK(obstacle("local", here, process) == "the ranks are not threads of one process");
  CHECK(obstacle("local", here, machine) == "the ranks are not threads of one process");
  CHECK(obstacle("shm", here, process).empty());
  CHECK(obstacle("shm", here, machine) == "the ranks are on different machines (node1, node2)");
  CHECK(obstacle("tcp", here, machine).empty());
}

TEST_CASE("every kind of transport is tried where it can be, and what cannot is told",
          "[transports]") {
  std::vector<std::string> tried;
  for (const Variant& variant : plain_variants()) tried.emplace_back(variant.kind->name);
  for (const TransportKind& kind : transport_kinds()) {
    const std::string why = why_not_here(kind);
    CAPTURE(kind.name, why);
    CHECK((std::ranges::count(tried, kind.name) > 0) == why.empty());
    if (!why.empty()) WARN("not tried: " + std::string(kind.name) + ": " + why);
  }
}

TEST_CASE("worlds leave no file descriptor behind; a thousand connections", "[transports]") {
  const std::vector<Variant> all = plain_variants();
  const Variant variant = all[GENERATE_COPY(range(std::size_t{0}, all.size()))];
  CAPTURE(variant.name);
  const std::size_t before = open_descriptors();
  // Devices are emulated where they are tested: fewer connections say as much.
  const int worlds = variant.kind->name == "verbs" ? 10 : 125;
  for (int i = 0; i < worlds; ++i) {
    World world(variant, 2, 4096);
    for (int lane = 0; lane < 4; ++lane) {
      for (int rank = 0; rank < 2; ++rank) {
        ReceiveChannel& in = world[1 - rank].receiver(rank, lane);
        send(world, world[rank].sender(1 - rank, lane), pattern(1, 1, 8), 1);
        REQUIRE(receive(world, in).fingerprint == 1);
      }
    }
  }
  CHECK(open_descriptors() == before);
}

}  // namespace rondo::testing
