// Operations on the flag segment, gathered and put into a stream at once. One driver call for each
// would take longer than what happens between them.
#pragma once

#include <vector>

#include "core/direct_device/staging_heap.h"

namespace rondo::direct_device {

/// What a stream has counted in `word` since it stood at `before`. 0 if the count stands further
/// back: then it is of earlier calls.
std::size_t counted_since(std::uint32_t& word, std::uint32_t before);

/// Puts `operations` into `stream` in their order, in as many batches as the driver wants. Throws
/// CudaError.
void put_operations(std::vector<cuda::MemoryOperation> operations, cuda::Stream stream);

/// The signals of one rank's stream, in the order in which they are asked for. put() puts them
/// there. Each write follows a system-wide fence, so a reader that sees it also sees what was put
/// into the stream before.
class Signals {
 public:
  explicit Signals(const StagingHeap& heap) : heap_(heap) {}

  /// Tells `peer`. `place`: a half or a slot.
  void tell(Signal kind, int place, int peer);
  /// Waits until `peer` has told. Then the peer may tell again.
  void take(Signal kind, int place, int peer);
  /// Waits for the same and leaves it as it is.
  void await(Signal kind, int place, int peer);
  void write(const std::uint32_t& word, std::uint32_t value);
  /// Waits until the word has come to `value`, also where its numbers wrap.
  void reach(const std::uint32_t& word, std::uint32_t value);
  /// Marks where an entry of the stream begins, and ends: see FlagSegment::begun(). 0: a captured
  /// one.
  void begin(std::uint64_t number);
  void end(std::uint64_t number);
  /// Puts what was asked for into the stream, if anything was. Throws CudaError. Nothing is left
  /// here then, either.
  void put(cuda::Stream stream);

 private:
  void add(unsigned operation, const std::uint32_t& word, std::uint32_t value, unsigned flags);

  const StagingHeap& heap_;
  std::vector<cuda::MemoryOperation> operations_{};
};

}  // namespace rondo::direct_device
