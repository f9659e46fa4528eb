// The contract of core/transport/transport.h, for every transport in the table, plain and wrapped
// in decorators that slow it down.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/transport/slot_ring.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/variants.h"

namespace rondo::testing {
namespace {

constexpr std::size_t slot = 8192;

std::uint64_t fingerprint_of(int from, int to, int lane, std::uint64_t number) {
  return static_cast<std::uint64_t>(from * 1000 + to * 100 + lane * 10) + number * 1000000;
}

/// One rank's half of an exchange: sends to and receives from every other rank in every lane at
/// once, never waiting for one of them alone.
class Exchange {
 public:
  Exchange(Transport& transport, int rank, int ranks, int lanes, std::vector<std::size_t> sizes)
      : transport_(transport), rank_(rank), sizes_(std::move(sizes)) {
    for (int peer = 0; peer < ranks; ++peer) {
      for (int lane = 0; peer != rank && lane < lanes; ++lane) {
        sides_.push_back(
            {peer, lane, &transport.sender(peer, lane), &transport.receiver(peer, lane)});
      }
    }
  }

  void run() {
    wait_until([&] {
      transport_.progress();
      for (Side& side : sides_) step(side);
      return std::ranges::all_of(sides_, [&](const Side& side) {
        return side.sent == sizes_.size() && side.received == sizes_.size() && side.out->flushed();
      });
    });
  }

 private:
  struct Side {
    int peer;
    int lane;
    SendChannel* out;
    ReceiveChannel* in;
    std::size_t sent = 0;
    std::size_t received = 0;
  };

  void step(Side& side) {
    if (side.sent < sizes_.size()) {
      const std::uint64_t tag = fingerprint_of(rank_, side.peer, side.lane, side.sent);
      if (try_send(*side.out, pattern(tag, side.sent, sizes_[side.sent]), tag)) ++side.sent;
    }
    if (side.received == sizes_.size()) return;
    const auto message = try_receive(*side.in);
    if (!message) return;
    const std::uint64_t tag = fingerprint_of(side.peer, rank_, side.lane, side.received);
    if (*message != Message{tag, pattern(tag, side.received, sizes_[side.received])}) {
      throw std::runtime_error("frame " + std::to_string(side.received) + " from rank " +
                               std::to_string(side.peer) + " is not what was sent");
    }
    ++side.received;
  }

  Transport& transport_;
  int rank_;
  std::vector<std::size_t> sizes_;
  std::vector<Side> sides_;
};

void exchange_on_threads(const Variant& variant, int ranks, int lanes,
                         const std::vector<std::size_t>& sizes, std::size_t slot_bytes) {
  World world(variant, ranks, slot_bytes);
  on_all_ranks(ranks, [&](int rank) { Exchange(world[rank], rank, ranks, lanes, sizes).run(); });
}

std::vector<std::size_t> sizes_up_to(std::size_t slot_bytes) {
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{40}, std::size_t{41},
          std::size_t{64}, std::size_t{4096}, slot_bytes - 1, slot_bytes}) {
      sizes.push_back(bytes);
    }
  }
  return sizes;
}

bool lost_peer_0(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == ErrorCode::peer_lost && error.peer() == 0;
  }
  return false;
}

}  // namespace

TEST_CASE("frames keep order, content and fingerprint between two threads", "[transports]") {
  const Variant variant = any_variant(variants());
  const int lanes = GENERATE(1, 2);
  CAPTURE(variant.name, lanes);
  CHECK_NOTHROW(exchange_on_threads(variant, 2, lanes, sizes_up_to(slot), slot));
}

TEST_CASE("slots of the default size carry full frames", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  const std::size_t bytes = World(variant, 2, 0)[0].slot_bytes();
  CHECK_NOTHROW(exchange_on_threads(variant, 2, 1, sizes_up_to(bytes), 0));
}

TEST_CASE("three and four ranks exchange frames all to all", "[transports]") {
  const Variant variant = any_variant(variants());
  const int ranks = GENERATE(3, 4);
  CAPTURE(variant.name, ranks);
  CHECK_NOTHROW(exchange_on_threads(variant, ranks, 1, sizes_up_to(slot), slot));
}

TEST_CASE("depth() frames can be committed before one is released", "[transports]") {
  const Variant variant = any_variant(variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[0].sender(1, 0);
  const auto depth = static_cast<std::uint64_t>(world[0].depth());
  REQUIRE(depth >= 2);
  for (std::uint64_t i = 0; i < depth; ++i) send(world, out, pattern(3, i, slot), i);
  ReceiveChannel& in = world[1].receiver(0, 0);
  for (std::uint64_t i = 0; i < depth; ++i) {
    CHECK(receive(world, in) == Message{i, pattern(3, i, slot)});
  }
}

TEST_CASE("a full channel refuses until a frame is released", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  send(world, out, pattern(4, 0, slot), 0);
  // Ring channels are full after depth() frames; a kernel takes some more, but not for ever.
  std::uint64_t sent = 1;
  while (sent < 100000 && try_send(out, pattern(4, sent, slot), sent)) ++sent;
  REQUIRE(sent < 100000);
  CHECK(out.acquire().empty());
  for (std::uint64_t i = 0; i < sent; ++i) {
    REQUIRE(receive(world, in) == Message{i, pattern(4, i, slot)});
  }
  send(world, out, pattern(4, sent, slot), sent);
  CHECK(receive(world, in) == Message{sent, pattern(4, sent, slot)});
}

TEST_CASE("acquire() and peek() repeat themselves", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  CHECK(in.peek() == nullptr);
  world.until([&] { return !out.acquire().empty(); });
  const std::span<std::byte> first = out.acquire();
  CHECK(first.size() == slot);
  CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % 64 == 0);
  CHECK(out.acquire().data() == first.data());
  REQUIRE(try_send(out, pattern(5, 0, 100), 11));
  REQUIRE(try_send(out, pattern(5, 1, 20), 12));
  const Frame* frame = nullptr;
  world.until([&] { return (frame = in.peek()) != nullptr; });
  CHECK(in.peek() == frame);
  CHECK(frame->tag.fingerprint == 11);
  CHECK(reinterpret_cast<std::uintptr_t>(frame->payload.data()) % 64 == 0);
  CHECK(std::ranges::equal(frame->payload, pattern(5, 0, 100)));
  in.release();
  CHECK(receive(world, in) == Message{12, pattern(5, 1, 20)});
}

TEST_CASE("channels are the same at every call, and ends may meet in any order", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  const bool receiver_first = GENERATE(false, true);
  CAPTURE(variant.name, receiver_first);
  World world(variant, 2, slot);
  if (receiver_first) CHECK(world[1].receiver(0, 1).peek() == nullptr);
  SendChannel& out = world[0].sender(1, 1);
  CHECK(&out == &world[0].sender(1, 1));
  send(world, out, pattern(6, 0, 500), 1);
  for (int i = 0; i < 1000; ++i) world.progress();
  ReceiveChannel& in = world[1].receiver(0, 1);
  CHECK(&in == &world[1].receiver(0, 1));
  CHECK(receive(world, in) == Message{1, pattern(6, 0, 500)});
}

TEST_CASE("a peer that leaves: its frames arrive, then every call names it", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[1].sender(0, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  send(world, out, pattern(8, 9, 10), 9);
  send(world, world[0].sender(1, 0), pattern(8, 0, 1000), 1);
  send(world, world[0].sender(1, 0), pattern(8, 1, 8), 2);
  CHECK(receive(world, world[0].receiver(1, 0)).fingerprint == 9);
  world.until([&] { return in.peek() != nullptr && world[0].sender(1, 0).flushed(); });
  world.transports[0].reset();

  CHECK(receive(world, in) == Message{1, pattern(8, 0, 1000)});
  CHECK(receive(world, in) == Message{2, pattern(8, 1, 8)});
  for (int i = 0; i < 2; ++i) {
    CHECK(lost_peer_0([&] { world.until([&] { return in.peek() != nullptr; }); }));
    CHECK(lost_peer_0([&] {
      world.until([&] {
        try_send(out, pattern(8, 0, 100), 3);
        return false;
      });
    }));
  }
}

TEST_CASE("a channel to a peer that left before is an error, not a hang", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  world.transports[0].reset();
  CHECK(lost_peer_0([&] {
    SendChannel& out = world[1].sender(0, 0);
    world.until([&] {
      try_send(out, pattern(8, 0, 100), 3);
      return false;
    });
  }));
}

TEST_CASE("a sleeping rank is woken by a frame and by a release", "[transports]") {
  const Variant variant = any_variant(plain_variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  send(world, out, {}, 0);
  receive(world, in);
  Doorbell& bell = *world.doorbells[1];
  const auto long_time = std::chrono::seconds(60);
  const auto start = std::chrono::steady_clock::now();

  std::thread sleeper([&] {
    bell.arm();
    if (in.peek() == nullptr) {
      std::vector<pollfd> descriptors;
      world[1].add_descriptors(descriptors);
      bell.sleep(long_time, descriptors);
    }
    bell.disarm();
  });
  wait_until([&] { return bell.is_armed(); });
  CHECK(try_send(out, pattern(9, 0, 8), 5));
  sleeper.join();
  CHECK(std::chrono::steady_clock::now() - start < long_time);
  CHECK(receive(world, in) == Message{5, pattern(9, 0, 8)});
}

}  // namespace rondo::testing
