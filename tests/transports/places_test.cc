// The contract of core/transport/transport.h as far as the caller's own memory is concerned:
// sending from it and receiving into it, for every transport in the table.
#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/transports/variants.h"

namespace rondo::testing {
namespace {

constexpr std::size_t slot = 8192;

/// Sends frames by slots or from place, as the dice fall; step() moves a little.
/// A checksum of its own for each frame: transports only carry it.
FrameTag tag_of(std::size_t number) {
  return {number, static_cast<std::uint32_t>(number * 0x9e3779b1 + 1)};
}

struct MixedSender {
  SendChannel& out;
  const std::vector<std::vector<std::byte>>& frames;
  std::mt19937 dice;
  std::size_t number = 0;
  std::size_t begun = 0;  ///< bytes of the frame already sent from place

  void step() {
    if (number == frames.size()) return;
    const std::vector<std::byte>& frame = frames[number];
    const bool in_place =
        begun > 0 || direct || (out.sends_from_place() && !frame.empty() && dice() % 2 == 0);
    if (!in_place) {
      send_by_slot(frame);
      return;
    }
    direct = true;
    begun += out.send_from(std::span(frame).subspan(begun), tag_of(number));
    if (begun < frame.size()) return;
    ++number;
    begun = 0;
    direct = false;
  }

  void send_by_slot(const std::vector<std::byte>& frame) {
    const std::span<std::byte> place = out.acquire();
    if (place.empty()) return;
    std::ranges::copy(frame, place.begin());
    out.commit(frame.size(), tag_of(number++));
  }
  bool direct = false;  ///< the frame goes from place, though maybe nothing of it has gone yet
};

struct MixedReceiver {
  ReceiveChannel& in;
  const std::vector<std::vector<std::byte>>& frames;
  std::mt19937 dice;
  bool checksum;
  std::size_t number = 0;
  std::size_t begun = 0;
  std::vector<std::byte> place{};

  void step() {
    if (number == frames.size()) return;
    const bool may_place = in.receives_into_place() && !frames[number].empty();
    if (begun == 0 && (!may_place || dice() % 3 == 0)) {
      peek();
    } else {
      read_part();
    }
  }

  void peek() {
    const Frame* frame = in.peek();
    // A frame that was looked at may still be read into place.
    if (frame == nullptr || (in.receives_into_place() && dice() % 2 == 0)) return;
    check(frame->tag, frame->payload);
    in.release();
  }

  void read_part() {
    const auto head = in.frame_head();
    if (!head) return;
    if (head->bytes != frames[number].size()) throw std::runtime_error("a frame of another length");
    place.resize(head->bytes);
    const std::size_t most = std::min<std::size_t>(1 + dice() % 5000, place.size() - begun);
    begun += in.receive_into(std::span(place).subspan(begun, most));
    if (begun < place.size()) return;
    check(head->tag, place);
    begun = 0;
  }

  void check(FrameTag tag, std::span<const std::byte> payload) {
    if (!checksum) tag.checksum = tag_of(number).checksum;  // need not have come
    if (tag != tag_of(number) || !std::ranges::equal(payload, frames[number])) {
      throw std::runtime_error("frame " + std::to_string(number) + " is not what was sent");
    }
    ++number;
  }
};

}  // namespace

TEST_CASE("slots and places mix on either side of a channel", "[transports]") {
  Variant variant = any_variant(variants());
  const unsigned seed = GENERATE(1U, 2U, 3U);
  variant.checksum = GENERATE(true, false);
  CAPTURE(variant.name, variant.checksum, seed);
  std::mt19937 dice(seed);
  std::vector<std::vector<std::byte>> frames;
  for (std::uint64_t i = 0; i < 150; ++i) {
    const std::size_t most = i % 3 == 0 ? 50 : slot;
    frames.push_back(pattern(seed, i, dice() % (most + 1)));
  }
  World world(variant, 2, slot);
  MixedSender sender{world[0].sender(1, 0), frames, std::mt19937(seed + 10)};
  MixedReceiver receiver{world[1].receiver(0, 0), frames, std::mt19937(seed + 20),
                         variant.checksum};
  CHECK_NOTHROW(world.until([&] {
    for (unsigned i = dice() % 4; i > 0; --i) sender.step();
    for (unsigned i = dice() % 4; i > 0; --i) receiver.step();
    return receiver.number == frames.size();
  }));
  // What has arrived may still have to be acknowledged.
  CHECK_NOTHROW(world.until([&] { return sender.out.flushed(); }));
}

TEST_CASE("memory that was sent from is the caller's again once all is flushed", "[transports]") {
  const Variant variant = any_variant(variants());
  CAPTURE(variant.name);
  World world(variant, 2, slot);
  SendChannel& out = world[0].sender(1, 0);
  ReceiveChannel& in = world[1].receiver(0, 0);
  if (!out.sends_from_place()) {
    CHECK_FALSE(out.holds_places());
    return;
  }
  Memory memory = allocate(slot);  // what devices may read in place
  const std::span<std::byte> place(static_cast<std::byte*>(memory.data()), slot);
  for (std::uint64_t number = 0; number < 12; ++number) {
    const std::vector<std::byte> frame = pattern(11, number, slot);
    std::ranges::copy(frame, place.begin());
    std::size_t done = 0;
    world.until([&] {
      if (done < slot) done += out.send_from(place.subspan(done), {number});
      return done == slot;
    });
    if (out.holds_places()) {
      world.until([&] { return world[0].flushed(); });
    }
    std::ranges::fill(place, std::byte{0xee});
    CHECK(receive(world, in) == Message{number, frame});
  }
}

}  // namespace rondo::testing
