// Two-shot by hand. A slice has two items on every channel:
//
//   0   the block of the receiver, from the sender's input
//   1   the sender's own block, summed, from its output
#include <vector>

#include "bench/floor/cut.h"
#include "bench/floor/hand_all_reduce.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

class TwoShot final : public HandAllReduce {
 public:
  explicit TwoShot(Wire& wire) : wire_(wire), rank_(wire.rank()), ranks_(wire.ranks()) {
    for (int hops = 1; hops < ranks_; ++hops) ends_.push_back({.peer = (rank_ + hops) % ranks_});
  }

  void run(const float* input, float* output, std::size_t count) override {
    if (cut_.count() != count) cut_ = Cut(count, ranks_, wire_.slot_bytes());
    input_ = input;
    output_ = output;
    summed_ = 0;
    wire_.begin_call(count);
    for (End& end : ends_) end.out = end.in = Walk(0, 1, cut_.slices());
    bool done = false;
    while (!done) {
      bool moved = false;
      done = true;
      for (End& end : ends_) {
        while (!end.out.done() && send(end)) moved = true;
      }
      while (summed_ < cut_.slices() && sum()) moved = true;
      for (End& end : ends_) {
        while (!end.in.done() && receive(end)) moved = true;
        done &= end.out.done() && end.in.done();
      }
      done &= summed_ == cut_.slices();
      if (!done) wire_.after_look(moved);
    }
  }

 private:
  struct End {
    int peer = 0;
    Walk out{0, 0, 0};
    Walk in{0, 0, 0};
  };
  static std::size_t bytes(Piece piece) { return piece.elements * sizeof(float); }

  bool send(End& end) {
    const bool own = end.out.item() == 1;
    if (own && summed_ <= end.out.slice()) return false;
    const Piece what = cut_.piece(own ? rank_ : end.peer, end.out.slice());
    const float* from = (own ? output_ : input_) + what.begin;
    if (what.elements > 0 && !wire_.put(end.peer, from, bytes(what))) return false;
    end.out.next();
    return true;
  }

  /// Adds up slice summed_ of the own block once every peer's part of it heads its channel. The sum
  /// goes into the output, and at once into the slots of peers that can take it.
  bool sum() {
    const Piece what = cut_.piece(rank_, summed_);
    if (what.elements > 0) {
      if (!gather(what)) return false;
      offer();
      reduce({}, outputs_, operands_, what.elements);
      for (End& end : ends_) wire_.in(end.peer).release();
      for (End* end : offered_) {
        wire_.commit(end->peer, bytes(what));
        end->out.next();
      }
    }
    for (End& end : ends_) end.in.next();
    ++summed_;
    return true;
  }

  /// Gathers the operands, in the order of ranks. False: some are not there yet.
  bool gather(Piece what) {
    operands_.assign(static_cast<std::size_t>(ranks_), input_ + what.begin);
    for (End& end : ends_) {
      if (end.in.item() != 0 || end.in.slice() != summed_) return false;
      const Frame* frame = wire_.peek(end.peer, bytes(what));
      if (frame == nullptr) return false;
      operands_[static_cast<std::size_t>(end.peer)] = frame->payload.data();
    }
    outputs_.assign(1, output_ + what.begin);
    return true;
  }

  void offer() {
    offered_.clear();
    for (End& end : ends_) {
      if (wire_.sends_places(end.peer) || end.out.done() || end.out.item() != 1 ||
          end.out.slice() != summed_)
        continue;
      const std::span<std::byte> slot = wire_.out(end.peer).acquire();
      if (slot.empty()) continue;
      outputs_.push_back(slot.data());
      offered_.push_back(&end);
    }
  }

  /// Receives a slice of a finished block. What is to be added is left to sum().
  bool receive(End& end) {
    if (end.in.item() == 0) return false;
    const Piece what = cut_.piece(end.peer, end.in.slice());
    if (what.elements > 0 && !wire_.take(end.peer, output_ + what.begin, bytes(what))) return false;
    end.in.next();
    return true;
  }

  Wire& wire_;
  int rank_;
  int ranks_;
  Cut cut_{};
  std::vector<End> ends_;
  int summed_ = 0;  ///< slices of the own block that are complete
  const float* input_ = nullptr;
  float* output_ = nullptr;
  std::vector<const void*> operands_;
  std::vector<void*> outputs_;
  std::vector<End*> offered_;
};

}  // namespace

std::unique_ptr<HandAllReduce> two_shot_by_hand(Wire& wire) {
  return std::make_unique<TwoShot>(wire);
}

}  // namespace rondo::bench
