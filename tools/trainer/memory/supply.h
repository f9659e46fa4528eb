// Memory for arrays other than this process's own: a device's memory, or host memory that a device
// reaches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tools/trainer/memory/ledger.h"

namespace rondo::train {

/// Memory that ranks share, as one of them sees it.
struct CommonMemory {
  std::uint64_t place = 0;      ///< ranks with the same number take from the same memory
  std::uint64_t available = 0;  ///< bytes
};

/// Belongs to one rank; one thread at a time. A copy sees the results of earlier operations, and
/// later operations see its result. Errors are rondo::Error.
class Supply {
 public:
  virtual ~Supply() = default;

  /// Zeroed; `bytes` is not 0. The supply outlives it.
  virtual std::shared_ptr<void> take(Use use, std::size_t bytes) = 0;
  /// Whether arrays of this use lie in common_memory(). The others lie in the host's memory.
  virtual bool is_common(Use use) const = 0;
  virtual CommonMemory common_memory() const = 0;
  virtual void zero(void* memory, std::size_t bytes) = 0;
  /// Copies between its memory and this process's own; done on return.
  virtual void read(const void* from, void* into, std::size_t bytes) = 0;
  virtual void write(const void* from, void* into, std::size_t bytes) = 0;
};

}  // namespace rondo::train
