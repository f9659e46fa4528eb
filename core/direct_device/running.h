// Running: puts one collective between devices into a stream, piece by piece.
//
//   fill a half       Wait until all peers have read what was in it: `free`. The readers of the new
//                     content must tell that again. Copy the input there. Tell them: `filled`.
//   empty the halves  Wait for the sources: `filled`. Read or reduce theirs. (Large all-reduces:
//                     tell all `reduced`, wait for it, read the parts.) Tell the sources: `free`.
//
// Slices use the two halves in turn, across calls too. The next slice is filled before one is
// emptied, so that peers need not wait for each other's copies.
//
// There is no deadlock. In every rank's stream the pieces have one order: fill 0, fill 1, empty 0,
// fill 2, empty 1, ... A fill waits only for peers' empties two slices back. An empty waits only
// for their fills of the same slice.
//
// Each signal is sent as often as it is taken (Signals::tell() and take()):
// - A reader takes `filled` before it sends `free`.
// - The owner takes `free` before it fills again and sends `filled`.
// - `reduced` is sent and taken between the two.
// So no word is written 1 twice in a row. When all ranks have ended a call, all words are as they
// were before it: `free` 1, the others 0. So any replay can repeat a captured call, and no number
// counts calls.
#pragma once

#include <cstdint>
#include <vector>

#include "core/direct_device/plan.h"
#include "core/direct_device/reduce.h"
#include "core/direct_device/signals.h"
#include "core/stream/request.h"

namespace rondo::direct_device {

class Running {
 public:
  /// `turn`: the half of its first slice. `number`: the call's, to be written when it begins and
  /// completes; 0: it is captured, and no number is written. `entries_before`: of all calls before.
  Running(const StagingHeap& heap, const stream::Request& request, Plan plan, int turn,
          std::uint64_t number, std::uint32_t entries_before);

  /// The half of the next call's first slice.
  int next_turn() const;
  /// Puts the next piece into the stream; false when that was the last one. Throws CudaError.
  bool advance();
  /// About how many entries of a driver's queue were put there, and how many of them the stream has
  /// not done yet, as far as is known.
  std::size_t entries() const { return entries_; }
  std::size_t entries_left() const;

 private:
  int half_of(std::size_t slice) const;
  cuda::DevicePointer own(int half) const { return heap_.half(heap_.rank(), half); }
  void fill(std::size_t index);
  void fill_run(const Run& run, cuda::DevicePointer target) const;
  void empty(std::size_t index);
  void reduce(const Slice& slice, int half) const;
  void reduce_aside(const Reducing& reducing, int half, Reduction reduction) const;
  void pull(const std::vector<Pull>& pulls, int half) const;
  void copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes) const;

  const StagingHeap& heap_;
  stream::Request request_;
  Plan plan_;
  Signals signals_;
  int turn_;
  std::uint64_t number_;
  std::uint32_t entries_before_;
  std::size_t entries_ = 0;
  std::size_t filled_ = 0;   ///< slices
  std::size_t emptied_ = 0;  ///< slices
};

}  // namespace rondo::direct_device
