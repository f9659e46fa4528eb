#include "bench/floor/one_shot.h"

#include "kernels/cpu/reduce.h"

namespace rondo::bench {

void OneShot::run(const float* input, float* output, std::size_t count) {
  const std::size_t bytes = count * sizeof(float);
  wire_.begin_call(count);
  sent_.assign(sent_.size(), false);
  while (!send(input, bytes)) wire_.after_look(false);
  while (!gather(input, bytes)) wire_.after_look(false);
  reduce(DataType::float32, ReduceOperator::sum, output, operands_, count);
  for (int hops = 1; hops < wire_.ranks(); ++hops) wire_.release(peer(hops));
}

bool OneShot::send(const float* input, std::size_t bytes) {
  bool all = true;
  for (int hops = 1; hops < wire_.ranks(); ++hops) {
    const auto to = static_cast<std::size_t>(peer(hops));
    if (!sent_[to]) sent_[to] = wire_.put(peer(hops), input, bytes);
    all = all && sent_[to];
  }
  return all;
}

bool OneShot::gather(const float* input, std::size_t bytes) {
  operands_[static_cast<std::size_t>(wire_.rank())] = input;
  for (int hops = 1; hops < wire_.ranks(); ++hops) {
    const Frame* frame = wire_.peek(peer(hops), bytes);
    if (frame == nullptr) return false;
    operands_[static_cast<std::size_t>(peer(hops))] = frame->payload.data();
  }
  return true;
}

}  // namespace rondo::bench
