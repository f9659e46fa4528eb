// The place where a rank computes: its memory, its operations, and collectives on that memory. It
// is the CPU (host.cc), or what overrides that: a GPU (tools/trainer/device).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "rondo/rondo.h"
#include "tools/trainer/math/call.h"

namespace rondo::train {

/// What arrays are for.
enum class Use : std::uint8_t {
  parameters,    ///< read by forward and backward, in the type of the computation
  gradients,     ///< live until the optimizer's step
  optimizer,     ///< momentum, moments
  master,        ///< float32 copies of parameters kept in a narrower type
  activations,   ///< kept by forward for backward, and scratch of the operations
  buckets,       ///< copies made for sending
  working,       ///< units unpacked or gathered while they are computed
  compensation,  ///< gradients that compression has not sent yet
};

struct UseInfo {
  Use use;
  std::string_view name;
  bool travels;  ///< goes through collectives, so that peers should reach it directly
};

inline constexpr std::array uses{
    UseInfo{Use::parameters, "parameters", true},
    UseInfo{Use::gradients, "gradients", true},
    UseInfo{Use::optimizer, "optimizer", false},
    UseInfo{Use::master, "master weights", false},
    UseInfo{Use::activations, "activations", false},
    UseInfo{Use::buckets, "buckets", true},
    UseInfo{Use::working, "working units", true},
    UseInfo{Use::compensation, "compensation", false},
};

constexpr const UseInfo& info(Use use) { return uses[static_cast<std::size_t>(use)]; }

/// Memory that ranks share, as one of them sees it.
struct CommonMemory {
  std::uint64_t place = 0;      ///< ranks with the same number take from the same memory
  std::uint64_t available = 0;  ///< bytes
};

/// One of an all_reduce, a reduce_scatter and an all_gather, as Communicator has them. They reduce to the
/// mean over the ranks.
struct Collection {
  Collective kind = Collective::all_reduce;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  DataType type = DataType::float32;
  const Operator* own =
      nullptr;  ///< in place of the type and the mean, in an all_reduce on the host
};

/// Belongs to one rank; one thread at a time. Spans and buffers lie in its memory, unless a name
/// says otherwise. Errors are rondo::Error.
class Machine {
 public:
  virtual ~Machine() = default;
  /// False: its memory is this process's own.
  virtual bool is_device() const { return false; }

  /// Zeroed; `bytes` is not 0. The machine outlives it.
  virtual std::shared_ptr<void> take(Use use, std::size_t bytes) const;
  virtual CommonMemory common_memory() const;
  virtual void zero(void* memory, std::size_t bytes) const;
  /// Copies between its memory and the process's own; done on return.
  virtual void read(const void* from, void* host, std::size_t bytes) const;
  virtual void write(const void* host, void* into, std::size_t bytes) const;
  /// A copy in its memory, or the values themselves; valid until the next call.
  virtual std::span<const std::int32_t> upload(std::span<const std::int32_t> host) const;

  virtual void multiply(const Product& product) const;
  /// `items`: elements, or `rows` that several threads may share.
  virtual void launch(const Call& call, std::size_t items, bool rows) const;
  virtual double sum_of_squares(std::span<const float> values) const;
  /// Returns when all operations so far are complete.
  virtual void finish() const {}

  /// Returns when the call is complete and operations may use its buffers, or throws its error. Call
  /// it once.
  using Wait = std::function<void()>;
  /// Starts a call among the ranks of `world`, after the operations so far. It may work in place.
  virtual Wait start(Communicator& world, const Collection& call) const;
  /// What `world` and these calls have sent.
  virtual Traffic traffic(const Communicator& world) const;
};

/// The CPU with this process's memory. Any thread.
const Machine& host_machine();
/// Sets the threads of every product in this process. With a rank on each core, one is enough.
void set_product_threads(int threads);

}  // namespace rondo::train
