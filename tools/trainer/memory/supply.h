// Where arrays lie that are not in this process's own memory: a device's, or the host's as a device
// reaches it.
#pragma once

#include <cstddef>
#include <memory>

#include "tools/trainer/memory/ledger.h"

namespace rondo::train {

/// One rank's; one thread at a time. What copies read was written by operations before them, and
/// operations behind them see what they wrote. Errors are rondo::Error.
class Supply {
 public:
  virtual ~Supply() = default;

  /// Zeroed; `bytes` is not 0. The supply outlives it.
  virtual std::shared_ptr<void> take(Use use, std::size_t bytes) = 0;
  virtual void zero(void* memory, std::size_t bytes) = 0;
  /// Between its memory and this process's own; done when they return.
  virtual void read(const void* from, void* into, std::size_t bytes) = 0;
  virtual void write(const void* from, void* into, std::size_t bytes) = 0;
};

}  // namespace rondo::train
