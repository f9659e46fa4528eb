// The decorators do what they say, once, at the chosen frame. Other tests rely on that.
#include <bit>
#include <vector>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/transports/world.h"

namespace rondo::testing {
namespace {

std::vector<Message> sent() {
  return {{1, pattern(1, 0, 100)}, {2, pattern(1, 1, 0)}, {3, pattern(1, 2, 64)}};
}

/// The part of sent() that arrives, with rank 0's transport wrapped. Waits for `frames` frames.
std::vector<Message> arrivals(Variant variant, const Mischief& mischief, bool from_place,
                              std::size_t frames) {
  variant.mischief = mischief;
  World world(variant, 2);
  SendChannel& out = world[0].sender(1, 0);
  for (const Message& message : sent()) {
    if (!from_place || !out.sends_from_place() || message.bytes.empty()) {
      send(world, out, message.bytes, message.fingerprint);
      continue;
    }
    std::size_t done = 0;
    world.until([&] {
      done += out.send_from(std::span(message.bytes).subspan(done), {message.fingerprint});
      return done == message.bytes.size();
    });
  }
  std::vector<Message> arrived;
  while (arrived.size() < frames) arrived.push_back(receive(world, world[1].receiver(0, 0)));
  return arrived;
}

int different_bits(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  int bits = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    bits += std::popcount(std::to_integer<unsigned>(a[i] ^ b[i]));
  }
  return bits;
}

}  // namespace

TEST_CASE("decorators drop and corrupt the chosen frame only", "[transports]") {
  const Variant variant = GENERATE(from_range(plain_variants()));
  const bool from_place = GENERATE(false, true);
  CAPTURE(variant.name, from_place);
  const std::vector<Message> all = sent();
  CHECK(arrivals(variant, {}, from_place, 3) == all);
  CHECK(arrivals(variant, {.drop_frame = 0}, from_place, 2) == std::vector{all[1], all[2]});

  const auto corrupt = arrivals(variant, {.seed = 5, .corrupt_frame = 2}, from_place, 3);
  CHECK(corrupt[0] == all[0]);
  CHECK(corrupt[1] == all[1]);
  CHECK(corrupt[2].fingerprint == all[2].fingerprint);
  CHECK(different_bits(corrupt[2].bytes, all[2].bytes) == 1);

  const auto empty = arrivals(variant, {.seed = 5, .corrupt_frame = 1}, from_place, 3);
  CHECK(empty[1].fingerprint == (0x2 ^ 32));
  const auto tag = arrivals(variant, {.seed = 4, .corrupt_fingerprint = 0}, from_place, 3);
  CHECK(tag[0] == Message{1 ^ 16, all[0].bytes});
  CHECK(tag[1] == all[1]);
}

TEST_CASE("a killed link throws from every call", "[transports]") {
  Variant variant = plain_variants().front();
  variant.mischief.kill_at_frame = 1;
  World world(variant, 2);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[0].receiver(1, 0);
  send(world, out, pattern(1, 1, 8), 1);
  CHECK(in.peek() == nullptr);
  CHECK_THROWS_AS(try_send(out, pattern(1, 2, 8), 2), Error);
  CHECK_THROWS_AS(out.acquire(), Error);
  CHECK_THROWS_AS(out.flushed(), Error);
  CHECK_THROWS_AS(in.peek(), Error);
  CHECK_THROWS_AS(in.release(), Error);
  CHECK(receive(world, world[1].receiver(0, 0)).fingerprint == 1);
}

}  // namespace rondo::testing
