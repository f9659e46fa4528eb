// Ring by hand. These are the items of a slice on rank r of P. Item k is about chunk r - 1 - k:
//
//   0            sent from the input
//   1 .. P-2     received, added to the input and sent on: a partial sum, slot to slot
//   P-1          received, added to the input into the output, and sent on from there
//   P .. 2P-3    received into the output and sent on
//   2P-2         received into the output
#include <array>
#include <stdexcept>

#include "bench/floor/cut.h"
#include "bench/floor/hand_all_reduce.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

class Ring final : public HandAllReduce {
 public:
  explicit Ring(Wire& wire)
      : wire_(wire),
        ranks_(wire.ranks()),
        next_((wire.rank() + 1) % ranks_),
        previous_((wire.rank() + ranks_ - 1) % ranks_),
        own_sum_(ranks_ - 1),
        last_(2 * ranks_ - 2) {
    if (ranks_ > most_ring_ranks) throw std::invalid_argument("the ring by hand has 2 to 4 ranks");
  }

  void run(const float* input, float* output, std::size_t count) override {
    if (cut_.count() != count) cut_ = Cut(count, ranks_, wire_.slot_bytes());
    input_ = input;
    output_ = output;
    wire_.begin_call(count);
    Walk out(0, last_ - 1, cut_.slices());
    Walk in(1, last_, cut_.slices());
    while (!in.done() || !out.done()) {
      bool moved = false;
      while (!out.done() && send(out, in)) moved = true;
      while (!in.done() && receive(in, out)) moved = true;
      wire_.after_look(moved);
    }
  }

 private:
  Piece piece(const Walk& walk) const {
    const int chunk = (wire_.rank() + 2 * ranks_ - 1 - walk.item()) % ranks_;
    return cut_.piece(chunk, walk.slice());
  }
  static std::size_t bytes(Piece piece) { return piece.elements * sizeof(float); }
  bool is_partial(const Walk& walk) const { return walk.item() > 0 && walk.item() < own_sum_; }

  /// True when the walk's item was sent, or is empty. Then the walk is one step further.
  bool send(Walk& out, const Walk& in) {
    const Piece what = piece(out);
    if (what.elements > 0) {
      if (is_partial(out)) return false;  // receive() sends it
      // Data to forward has been received once the walk `in` is past it.
      if (out.item() > 0 && !past(in, out)) return false;
      const float* from = (out.item() == 0 ? input_ : output_) + what.begin;
      if (!wire_.put(next_, from, bytes(what))) return false;
    }
    out.next();
    return true;
  }

  static bool past(const Walk& in, const Walk& out) {
    if (in.done()) return true;
    const int in_time = in.slice() + in.item();
    const int out_time = out.slice() + out.item();
    return in_time != out_time ? in_time > out_time : in.item() > out.item();
  }

  /// True when the walk's item was received, or is empty. Sends it on where that needs no wait.
  bool receive(Walk& in, Walk& out) {
    const Piece what = piece(in);
    if (what.elements > 0) {
      const bool received = is_partial(in)          ? pass_on(what, in, out)
                            : in.item() == own_sum_ ? finish_sum(what, in, out)
                                                    : take(what, in, out);
      if (!received) return false;
    }
    in.next();
    return true;
  }

  /// The slot in which the item can be sent at once. Empty where the item must wait.
  std::span<std::byte> slot_for(const Walk& in, const Walk& out) {
    if (!in.at(out)) return {};
    return wire_.out(next_).acquire();
  }
  /// The same for an item that also stays in the output: it need not go by a slot.
  std::span<std::byte> spare_slot_for(const Walk& in, const Walk& out) {
    if (wire_.sends_places(next_)) return {};
    return slot_for(in, out);
  }

  bool pass_on(Piece what, const Walk& in, Walk& out) {
    const Frame* frame = wire_.peek(previous_, bytes(what));
    if (frame == nullptr) return false;
    const std::span<std::byte> slot = slot_for(in, out);
    if (slot.empty()) return false;
    const std::array<const void*, 2> operands{frame->payload.data(), input_ + what.begin};
    reduce(DataType::float32, ReduceOperator::sum, slot.data(), operands, what.elements);
    wire_.commit(next_, bytes(what));
    wire_.in(previous_).release();
    out.next();
    return true;
  }

  bool finish_sum(Piece what, const Walk& in, Walk& out) {
    const Frame* frame = wire_.peek(previous_, bytes(what));
    if (frame == nullptr) return false;
    const std::array<const void*, 2> operands{frame->payload.data(), input_ + what.begin};
    const std::span<std::byte> slot = spare_slot_for(in, out);
    const std::array<void*, 2> outputs{output_ + what.begin, slot.data()};
    reduce({}, std::span(outputs).first(slot.empty() ? 1 : 2), operands, what.elements);
    if (!slot.empty()) {
      wire_.commit(next_, bytes(what));
      out.next();
    }
    wire_.in(previous_).release();
    return true;
  }

  bool take(Piece what, const Walk& in, Walk& out) {
    float* const to = output_ + what.begin;
    const Frame* frame = nullptr;
    if (in.item() != last_ && !wire_.receives_places(previous_))
      frame = wire_.peek(previous_, bytes(what));
    const std::span<std::byte> slot =
        frame == nullptr ? std::span<std::byte>() : spare_slot_for(in, out);
    if (slot.empty()) return wire_.take(previous_, to, bytes(what));
    copy(std::array<void*, 2>{to, slot.data()}, frame->payload.data(), bytes(what), false);
    wire_.commit(next_, bytes(what));
    out.next();
    wire_.in(previous_).release();
    return true;
  }

  Wire& wire_;
  int ranks_;
  int next_;
  int previous_;
  int own_sum_;  ///< the item that completes this rank's own chunk
  int last_;
  Cut cut_{};
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

std::unique_ptr<HandAllReduce> ring_by_hand(Wire& wire) { return std::make_unique<Ring>(wire); }

std::unique_ptr<HandAllReduce> all_reduce_by_hand(std::string_view algorithm, Wire& wire) {
  if (algorithm == "ring") return ring_by_hand(wire);
  return algorithm == "two_shot" ? two_shot_by_hand(wire) : one_shot_by_hand(wire);
}

}  // namespace rondo::bench
