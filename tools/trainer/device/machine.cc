#include "tools/trainer/device/machine.h"

#include <utility>
#include <vector>

#include "rondo/stream.h"
#include "tools/trainer/device/cublas.h"
#include "tools/trainer/device/launch.h"
#include "tools/trainer/device/offload.h"

namespace rondo::train {
namespace {

using device::Device;

class DeviceMachine final : public Machine {
 public:
  DeviceMachine(Communicator world, bool offload, const device::Libraries& libraries)
      : device_(libraries, world.rank()),
        cublas_(libraries, device_.compute()),
        squares_(device_.take(sums * sizeof(double))),
        ranks_(std::move(world)) {
    if (offload) offload_ = std::make_unique<device::Offload>(device_);
  }

  bool is_device() const override { return true; }
  std::shared_ptr<void> take(Use use, std::size_t bytes) const override {
    if (is_common(use)) return device_.take(bytes);
    return device::take_pinned(device_.driver(), bytes);
  }
  bool is_common(Use use) const override {
    return !offload_ || (use != Use::optimizer && use != Use::master);
  }
  CommonMemory common_memory() const override { return device_.common_memory(); }
  void zero(void* memory, std::size_t bytes) const override { device_.zero(memory, bytes); }
  void read(const void* from, void* host, std::size_t bytes) const override {
    device_.read(from, host, bytes);
  }
  void write(const void* host, void* into, std::size_t bytes) const override {
    device_.write(host, into, bytes);
  }
  std::span<const std::int32_t> upload(std::span<const std::int32_t> host) const override {
    if (host.size() > integers_size_) {
      integers_.reset();  // before the larger one is taken
      integers_ = device_.take(host.size_bytes());
      integers_size_ = host.size();
    }
    device_.write(host.data(), integers_.get(), host.size_bytes());
    return {static_cast<const std::int32_t*>(integers_.get()), host.size()};
  }

  void multiply(const Product& product) const override { cublas_.multiply(product); }
  void launch(const Call& call, std::size_t items, bool rows) const override {
    device_.launch(call, rows ? items * device::warp_lanes : items);
  }
  double sum_of_squares(std::span<const float> values) const override {
    const std::span<double> parts(static_cast<double*>(squares_.get()), sums);
    device_.launch(make_call(Kernel::squares, {buffer_of(values), buffer_of(parts)}), sums);
    std::vector<double> each(sums);
    device_.read(parts.data(), each.data(), parts.size_bytes());
    double sum = 0;
    for (const double part : each) sum += part;
    return sum;
  }
  void update(const Optimizer& optimizer, const Range& range, const Step& step) const override {
    if (offload_) return offload_->update(optimizer, range, step);
    optimizer.update(*this, range, step);
  }
  void finish() const override { device_.finish(device_.compute()); }

  /// The call follows the work that is in the compute stream now. Later work in that stream does
  /// not wait for it: the host does, so that the time is counted as communication.
  Wait start(Communicator&, const Collection& c) const override {
    CUstream_st* const stream = device_.side();
    device_.follow(stream, device_.compute());
    if (c.kind == Collective::all_reduce) {
      ranks_.all_reduce(c.input, c.output, c.count, c.type, c.op, stream);
    } else if (c.kind == Collective::reduce_scatter) {
      ranks_.reduce_scatter(c.input, c.output, c.count, c.type, c.op, stream);
    } else {
      ranks_.all_gather(c.input, c.output, c.count, c.type, stream);
    }
    const auto done = std::make_shared<device::Event>(device_.driver());
    done->record(stream);
    return [this, done] {
      done->finish();
      ranks_.check();
    };
  }
  Traffic traffic(const Communicator& world) const override {
    return world.traffic() - (Traffic{} - ranks_.traffic());  // modulo 2^64: the sum
  }

 private:
  static constexpr std::size_t sums = 4096;  ///< of squares: one for each thread that adds

  Device device_;
  device::Cublas cublas_;
  std::shared_ptr<void> squares_;
  mutable std::shared_ptr<void> integers_{};  ///< of upload()
  mutable std::size_t integers_size_ = 0;
  std::unique_ptr<device::Offload> offload_{};
  mutable StreamCommunicator ranks_;
};

}  // namespace

std::unique_ptr<Machine> open_device_machine(Communicator world, bool offload,
                                             const device::Libraries& libraries) {
  return std::make_unique<DeviceMachine>(std::move(world), offload, libraries);
}

}  // namespace rondo::train
