// Where arrays lie that are not in this process's own memory: a device's, or the host's as a device
// reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tools/trainer/memory/ledger.h"

namespace rondo::train {

/// A memory that ranks share, as one of them sees it.
struct CommonMemory {
  std::uint64_t place = 0;      ///< ranks with the same number take from the same memory
  std::uint64_t available = 0;  ///< bytes
};

/// One rank's; one thread at a time. What copies read was written by operations before them, and
/// operations behind them see what they wrote. Errors are rondo::Error.
class Supply {
 public:
  virtual ~Supply() = default;

  /// Zeroed; `bytes` is not 0. The supply outlives it.
  virtual std::shared_ptr<void> take(Use use, std::size_t bytes) = 0;
  /// Whether arrays of this use lie in common_memory(); those that do not, in the host's memory.
  virtual bool is_common(Use use) const = 0;
  virtual CommonMemory common_memory() const = 0;
  virtual void zero(void* memory, std::size_t bytes) = 0;
  /// Between its memory and this process's own; done when they return.
  virtual void read(const void* from, void* into, std::size_t bytes) = 0;
  virtual void write(const void* from, void* into, std::size_t bytes) = 0;
};

}  // namespace rondo::train
