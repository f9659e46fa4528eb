#include <utility>

#include "tools/trainer/machine/machine.h"

namespace rondo::train {
namespace {

class HostStarted final : public Started {
 public:
  explicit HostStarted(Work work) : work_(std::move(work)) {}
  void wait() override { work_.wait(); }

 private:
  Work work_;
};

std::unique_ptr<Started> started(Work work) {
  return std::make_unique<HostStarted>(std::move(work));
}

class HostMachine final : public Machine {
 public:
  const Math<float>& math() const override { return host_math<float>(); }
  Supply* supply() const override { return nullptr; }
  double sum_of_squares(std::span<const float> values) const override {
    return train::sum_of_squares(values);
  }
  void update(const Optimizer& optimizer, const Range& range, const Step& step) const override {
    optimizer.update(range, step);
  }
  void finish() const override {}

  std::unique_ptr<Started> all_reduce(Communicator& world, void* buffer, std::size_t count,
                                      DataType type, ReduceOperator op) const override {
    return started(world.all_reduce_async(buffer, buffer, count, type, op));
  }
  std::unique_ptr<Started> reduce_scatter(Communicator& world, const void* input, void* output,
                                          std::size_t count, DataType type,
                                          ReduceOperator op) const override {
    return started(world.reduce_scatter_async(input, output, count, type, op));
  }
  std::unique_ptr<Started> all_gather(Communicator& world, const void* input, void* output,
                                      std::size_t count, DataType type) const override {
    return started(world.all_gather_async(input, output, count, type));
  }
  Traffic traffic(const Communicator& world) const override { return world.traffic(); }
};

}  // namespace

const Machine& host_machine() {
  static const HostMachine machine;
  return machine;
}

}  // namespace rondo::train
