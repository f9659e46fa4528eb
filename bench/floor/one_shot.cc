// One-shot by hand: the whole vector to everybody, then one sum in the order of ranks.
#include <vector>

#include "bench/floor/hand_all_reduce.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

class OneShot final : public HandAllReduce {
 public:
  explicit OneShot(Wire& wire)
      : wire_(wire), operands_(static_cast<std::size_t>(wire.ranks())), sent_(operands_.size()) {}

  std::size_t most_bytes() const override { return wire_.slot_bytes(); }

  void run(const float* input, float* output, std::size_t count) override {
    const std::size_t bytes = count * sizeof(float);
    wire_.begin_call(count);
    sent_.assign(sent_.size(), false);
    while (!send(input, bytes)) wire_.after_look(false);
    while (!gather(input, bytes)) wire_.after_look(false);
    reduce(DataType::float32, ReduceOperator::sum, output, operands_, count);
    for (int hops = 1; hops < wire_.ranks(); ++hops) wire_.in(peer(hops)).release();
  }

 private:
  int peer(int hops) const { return (wire_.rank() + hops) % wire_.ranks(); }

  /// True when the vector has been sent to every peer.
  bool send(const float* input, std::size_t bytes) {
    bool all = true;
    for (int hops = 1; hops < wire_.ranks(); ++hops) {
      const auto to = static_cast<std::size_t>(peer(hops));
      if (!sent_[to]) sent_[to] = wire_.put(peer(hops), input, bytes);
      all = all && sent_[to];
    }
    return all;
  }

  /// True when every peer's vector heads its channel.
  bool gather(const float* input, std::size_t bytes) {
    operands_[static_cast<std::size_t>(wire_.rank())] = input;
    for (int hops = 1; hops < wire_.ranks(); ++hops) {
      const Frame* frame = wire_.peek(peer(hops), bytes);
      if (frame == nullptr) return false;
      operands_[static_cast<std::size_t>(peer(hops))] = frame->payload.data();
    }
    return true;
  }

  Wire& wire_;
  std::vector<const void*> operands_;  ///< by rank
  std::vector<bool> sent_;             ///< by rank
};

}  // namespace

std::unique_ptr<HandAllReduce> one_shot_by_hand(Wire& wire) {
  return std::make_unique<OneShot>(wire);
}

}  // namespace rondo::bench
