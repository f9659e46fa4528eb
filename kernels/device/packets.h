// Packets: 8 bytes of payload in two words of 8 bytes, each half data and half flag. A word is
// written and read as a whole, so its data are there as soon as its flag is. It needs no fence and
// takes one trip.
#pragma once

#include "kernels/device/arena.h"
#include "kernels/device/combine.h"

namespace rondo::device {

/// Flags of message `step`: never 0, which is what wiped packets hold.
RONDO_DEVICE inline std::uint32_t flag_of(const ArenaShape& arena, std::uint64_t step) {
  return static_cast<std::uint32_t>(step & (arena.flag_period - 1)) + 1;
}
/// True where message `step` must wipe its slot first (see ArenaShape::flag_period).
RONDO_DEVICE inline bool wipe_due(const ArenaShape& arena, std::uint64_t step) {
  return step / arena.depth % arena.wipe_interval == 0;
}

RONDO_DEVICE inline void put_packet(Packet* packet, std::uint64_t payload, std::uint32_t flag) {
  const std::uint64_t above = std::uint64_t{flag} << 32;
  store_pair_relaxed(packet, {above | (payload & 0xffffffffu), above | payload >> 32});
}
RONDO_DEVICE inline bool has_flag(const WordPair& words, std::uint32_t flag) {
  return words.low >> 32 == flag && words.high >> 32 == flag;
}
RONDO_DEVICE inline std::uint64_t payload_of(const WordPair& words) {
  return (words.low & 0xffffffffu) | words.high << 32;
}

/// A packet's payload as elements. The last packet of a message may have fewer of them.
template <class E>
struct Payload {
  static constexpr int lanes = static_cast<int>(packet_payload / sizeof(typename E::Storage));
  using Elements = Vector<E, lanes>;

  RONDO_DEVICE static Elements elements(std::uint64_t bits) {
    Elements elements;
    std::memcpy(&elements, &bits, sizeof(bits));
    return elements;
  }
  RONDO_DEVICE static std::uint64_t bits(const Elements& elements) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &elements, sizeof(bits));
    return bits;
  }
  /// `count` elements, the others zero.
  RONDO_DEVICE static Elements load(const std::byte* at, std::uint64_t count) {
    using T = typename E::Storage;
    if (count >= lanes && is_aligned(at, packet_payload)) return load_vector<Elements>(at);
    Elements elements{};
    RONDO_UNROLL
    for (int i = 0; i < lanes; ++i) {
      if (static_cast<std::uint64_t>(i) < count)
        elements.lane[i] = load_element<T>(at + i * sizeof(T));
    }
    return elements;
  }
  RONDO_DEVICE static void store(std::byte* at, std::uint64_t count, const Elements& elements) {
    using T = typename E::Storage;
    if (count >= lanes && is_aligned(at, packet_payload)) return store_vector(at, elements);
    RONDO_UNROLL
    for (int i = 0; i < lanes; ++i) {
      if (static_cast<std::uint64_t>(i) < count)
        store_element(at + i * sizeof(T), elements.lane[i]);
    }
  }
};

/// One payload while it is worked on: Recipe's reduction, an operand at a time.
template <class E>
class PayloadSum {
 public:
  using P = Payload<E>;
  RONDO_DEVICE explicit PayloadSum(const Recipe& recipe)
      : recipe_(recipe), factor_(Factor<E>::of(recipe)) {}

  RONDO_DEVICE void add(const typename P::Elements& elements, bool scaled) {
    const Factor<E> factor = scaled ? factor_ : Factor<E>{};
    if (first_) {
      work_.set(0, elements, factor);
    } else {
      Work<E, P::lanes, 1> next;
      next.set(0, elements, factor);
      work_.merge(recipe_.op, next);
    }
    first_ = false;
  }
  /// Call it once, after the last operand.
  RONDO_DEVICE typename P::Elements result() {
    work_.divide(recipe_.divisor);
    return work_.result(0, recipe_.after);
  }

 private:
  const Recipe& recipe_;
  const Factor<E> factor_;
  Work<E, P::lanes, 1> work_{};
  bool first_ = true;
};

}  // namespace rondo::device
