// A Machine that is a CUDA device: two streams, memory, and the trainer's kernel. Operations go into
// one stream, in order. Collectives on device buffers, by rondo/stream.h, run beside them in the
// other. Nothing of CUDA is linked: the trainer runs without it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/cuda/handles.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "rondo/stream.h"
#include "tools/trainer/machine/machine.h"

namespace rondo::train::device {

/// Names to pass to dlopen(): the first one found is used.
struct Libraries {
  std::string driver = "libcuda.so.1";
  std::array<std::string, 3> cublas{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
};

/// For the thread that makes it, which must not use another context as long as it lives.
class Device final : public Machine {
 public:
  /// The device of this rank of `world`, a communicator of its own for collectives: ranks of a
  /// machine take its devices in turn. Local. Throws Error{invalid_usage} that says what is missing
  /// to use a GPU, and Error if the driver refuses.
  explicit Device(Communicator world, const Libraries& libraries = {});
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bool is_device() const override { return true; }
  std::shared_ptr<void> take(Use use, std::size_t bytes) const override;
  CommonMemory common_memory() const override;
  void zero(void* memory, std::size_t bytes) const override;
  void read(const void* from, void* host, std::size_t bytes) const override;
  void write(const void* host, void* into, std::size_t bytes) const override;
  std::span<const std::int32_t> upload(std::span<const std::int32_t> host) const override;
  void multiply(const Product& product) const override;
  void launch(const Call& call, std::size_t items, bool rows) const override;
  double sum_of_squares(std::span<const float> values) const override;
  void finish() const override;
  Wait start(Communicator& world, const Collection& call) const override;
  Traffic traffic(const Communicator& world) const override;

 private:
  class Cublas;
  static constexpr std::size_t sums = 4096;  ///< of squares: one for each thread that adds

  int number_;
  cuda::CurrentContext current_;
  cuda::OwnedStream compute_, side_;
  cuda::OwnedEvent order_;      ///< of the streams
  cuda::PinnedMemory staging_;  ///< of read() and write()
  std::unique_ptr<Cublas> cublas_;
  cuda::Kernel kernel_;
  std::shared_ptr<void> squares_;
  mutable std::shared_ptr<void> integers_{};  ///< of upload()
  mutable std::size_t integers_size_ = 0;
  mutable StreamCommunicator ranks_;
};

}  // namespace rondo::train::device
