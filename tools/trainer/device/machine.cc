#include "tools/trainer/device/machine.h"

#include <utility>

#include "rondo/stream.h"
#include "tools/trainer/device/math.h"
#include "tools/trainer/device/offload.h"

namespace rondo::train {
namespace {

using device::Device;
using device::Event;
using device::Kernel;

class DeviceSupply final : public Supply {
 public:
  DeviceSupply(const Device& device, bool offload) : device_(device), offload_(offload) {}

  std::shared_ptr<void> take(Use use, std::size_t bytes) override {
    if (is_common(use)) return device_.take(bytes);
    const auto pinned = std::make_shared<device::Pinned>(device_.driver(), bytes);
    return {pinned, pinned->data()};
  }
  bool is_common(Use use) const override {
    return !offload_ || (use != Use::optimizer && use != Use::master);
  }
  CommonMemory common_memory() const override { return device_.common_memory(); }
  void zero(void* memory, std::size_t bytes) override { device_.zero(memory, bytes); }
  void read(const void* from, void* into, std::size_t bytes) override {
    device_.read(from, into, bytes);
  }
  void write(const void* from, void* into, std::size_t bytes) override {
    device_.write(from, into, bytes);
  }

 private:
  const Device& device_;
  bool offload_;
};

class DeviceStarted final : public Started {
 public:
  DeviceStarted(const Device& device, StreamCommunicator& ranks)
      : ranks_(ranks), done_(device.driver()) {
    device.record(done_, device.side());
  }
  /// The host waits. So later work in the compute stream needs no other order, and the time is
  /// counted as communication.
  void wait() override {
    done_.finish();
    ranks_.check();
  }

 private:
  StreamCommunicator& ranks_;
  Event done_;
};

class DeviceMachine final : public Machine {
 public:
  DeviceMachine(Communicator world, bool offload, const device::Libraries& libraries)
      : device_(libraries, world.rank()),
        supply_(device_, offload),
        math_(device::make_math(device_, libraries)),
        squares_(device_.take(sums * sizeof(double))),
        ranks_(std::move(world)) {
    if (offload) offload_ = std::make_unique<device::Offload>(device_);
  }

  const Math<float>& math() const override { return *math_; }
  Supply* supply() const override { return &supply_; }

  double sum_of_squares(std::span<const float> values) const override {
    const std::span<double> parts(static_cast<double*>(squares_.get()), sums);
    device_.launch(Kernel::squares, {sums},
                   device::make_call({device::buffer_of(values), device::buffer_of(parts)}));
    std::vector<double> each(sums);
    device_.read(parts.data(), each.data(), parts.size_bytes());
    double sum = 0;
    for (const double part : each) sum += part;
    return sum;
  }

  void update(const Optimizer& optimizer, const Range& range, const Step& step) const override {
    if (offload_) return offload_->update(optimizer, range, step);
    optimizer.update(range, step, [&](const UpdateRule& rule, const Range& run) {
      std::visit([&](const auto& each) { launch(each, run); }, rule);
    });
  }
  void finish() const override { device_.finish(device_.compute()); }

  std::unique_ptr<Started> all_reduce(Communicator&, void* buffer, std::size_t count, DataType type,
                                      ReduceOperator op) const override {
    return beside(
        [&](CudaStream stream) { ranks_.all_reduce(buffer, buffer, count, type, op, stream); });
  }
  std::unique_ptr<Started> reduce_scatter(Communicator&, const void* input, void* output,
                                          std::size_t count, DataType type,
                                          ReduceOperator op) const override {
    return beside(
        [&](CudaStream stream) { ranks_.reduce_scatter(input, output, count, type, op, stream); });
  }
  std::unique_ptr<Started> all_gather(Communicator&, const void* input, void* output,
                                      std::size_t count, DataType type) const override {
    return beside(
        [&](CudaStream stream) { ranks_.all_gather(input, output, count, type, stream); });
  }
  Traffic traffic(const Communicator& world) const override {
    return world.traffic() - (Traffic{} - ranks_.traffic());  // modulo 2^64: the sum
  }

 private:
  static constexpr std::size_t sums = 4096;  ///< of squares: one for each thread that adds

  /// It follows the work that is in the compute stream now. Later work in that stream does not wait
  /// for it.
  template <class Issue>
  std::unique_ptr<Started> beside(Issue issue) const {
    device_.follow(device_.side(), device_.compute());
    issue(device_.side());
    return std::make_unique<DeviceStarted>(device_, ranks_);
  }
  void launch(const SgdRule& rule, const Range& run) const {
    const device::Buffer velocity =
        run.states.empty() ? device::Buffer{} : device::buffer_of(run.states[0]);
    device_.launch(
        Kernel::sgd, {run.parameters.size()},
        device::make_call(
            {device::buffer_of(run.parameters), device::buffer_of(run.gradients), velocity}, {},
            std::array{rule.rate, rule.scale, rule.decay, rule.momentum}));
  }
  void launch(const AdamwRule& rule, const Range& run) const {
    device_.launch(
        Kernel::adamw, {run.parameters.size()},
        device::make_call({device::buffer_of(run.parameters), device::buffer_of(run.gradients),
                           device::buffer_of(run.states[0]), device::buffer_of(run.states[1])},
                          {},
                          std::array{rule.rate, rule.root, rule.keep, rule.scale, rule.beta1,
                                     rule.beta2, rule.epsilon}));
  }

  Device device_;
  mutable DeviceSupply supply_;
  std::unique_ptr<Math<float>> math_;
  std::shared_ptr<void> squares_;
  std::unique_ptr<device::Offload> offload_{};
  mutable StreamCommunicator ranks_;
};

}  // namespace

std::unique_ptr<Machine> open_device_machine(Communicator world, bool offload,
                                             const device::Libraries& libraries) {
  return std::make_unique<DeviceMachine>(std::move(world), offload, libraries);
}

}  // namespace rondo::train
