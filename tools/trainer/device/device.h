// A Machine that is a CUDA device: a context, two streams, memory, and the trainer's kernel.
// Operations go into compute(), in order. Collectives on device buffers, by rondo/stream.h, and
// copies run beside them in side().
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "rondo/stream.h"
#include "tools/trainer/device/driver.h"
#include "tools/trainer/machine/machine.h"

namespace rondo::train::device {

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
  void multiply(const Product& product) const override { cublas_->multiply(product); }
  void launch(const Call& call, std::size_t items, bool rows) const override;
  double sum_of_squares(std::span<const float> values) const override;
  void finish() const override;
  Wait start(Communicator& world, const Collection& call) const override;
  Traffic traffic(const Communicator& world) const override;

 private:
  static constexpr std::size_t sums = 4096;  ///< of squares: one for each thread that adds

  CUstream_st* compute() const { return streams_[0]; }
  CUstream_st* side() const { return streams_[1]; }
  /// Copies between device and page-locked memory, in compute().
  void copy(const void* from, void* into, std::size_t bytes) const;
  /// Work that is put into side() from now on waits for the work in compute().
  void follow() const;
  void open(int rank);
  void load();
  void close();

  Driver driver_;
  int number_ = 0;
  CUctx_st* context_ = nullptr;
  std::array<CUstream_st*, 2> streams_{};
  CUfunc_st* kernel_ = nullptr;
  unsigned most_blocks_ = 1;
  std::shared_ptr<std::byte> staging_{};  ///< of read() and write()
  std::unique_ptr<Event> order_{};        ///< of follow()
  std::optional<Cublas> cublas_{};
  std::shared_ptr<void> squares_{};
  mutable std::shared_ptr<void> integers_{};  ///< of upload()
  mutable std::size_t integers_size_ = 0;
  mutable StreamCommunicator ranks_{};
};

}  // namespace rondo::train::device
