// Operations on the page of flags, gathered and put into a stream at once: a driver call for each
// would take longer than what happens between them.
#pragma once

#include <vector>

#include "core/direct_device/area.h"

namespace rondo::direct_device {

/// What a stream has counted in `word` since it stood at `before`; one that stands further back is
/// of calls before.
std::size_t counted_since(std::uint32_t& word, std::uint32_t before);

/// In their order, in as many batches as the driver wants. Throws CudaError.
void put_operations(std::vector<cuda::MemoryOperation> operations, cuda::Stream stream);

/// Of one rank's stream, in the order in which they are asked for. Behind put() what was put into
/// the stream before them is seen by whoever sees what they write: each write comes behind a
/// system-wide fence.
class Signals {
 public:
  explicit Signals(const Area& area) : area_(area) {}

  /// Tells `peer`. `place`: a half or a slot.
  void tell(Signal kind, int place, int peer);
  /// Waits until `peer` has told, which it may then do again.
  void take(Signal kind, int place, int peer);
  /// Waits for the same and leaves it as it is.
  void await(Signal kind, int place, int peer);
  void write(const std::uint32_t& word, std::uint32_t value);
  /// Here an entry of the stream begins, and ends: see SharedPage::begun(). 0: a captured one.
  void begin(std::uint64_t number);
  void end(std::uint64_t number);
  /// Nothing where none was asked for. Throws CudaError; all are gone from here then, too.
  void put(cuda::Stream stream);

 private:
  void add(unsigned operation, const std::uint32_t& word, std::uint32_t value, unsigned flags);

  const Area& area_;
  std::vector<cuda::MemoryOperation> operations_{};
};

}  // namespace rondo::direct_device
