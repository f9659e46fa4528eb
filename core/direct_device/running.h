// Running: one collective between devices on its way into a stream, piece by piece.
//
//   fill a half       wait until all peers have read what was in it: `free`; those that will read
//                     it have to say so again. Copy the input there. Tell the readers: `filled`.
//   empty the halves  Wait for the sources: `filled`. Read theirs, or reduce them. (Large
//                     all-reduces: tell everybody `reduced`, wait for it, read the parts.) Tell the
//                     sources: `free`.
//
// Where peers read users' own buffers, these are the half that is filled, when the stream has come
// so far; and at its end the call waits until all have read: `free`.
//
// Slices take turns with the two halves, and the slice behind is filled before one is emptied, so
// that peers need not wait for each other's copies. A communicator's calls go on with the turn.
//
// Nothing waits in a circle: in every rank's stream the pieces have one order, fill 0, fill 1,
// empty 0, fill 2, empty 1, ..., and a fill waits only for peers' empties two slices back, an empty
// only for their fills of the same slice.
//
// A wait for all to have read, behind the last empty, is for peers' empties of the last two slices.
//
// Each signal is taken as often as it is told: a reader takes `filled` before it tells `free`, and
// the owner takes that before it fills and tells `filled` again; `reduced` is told and taken
// between the two. So no word is ever written 1 twice in a row, and when all ranks have ended a
// call all words are as they were before it: `free` 1, the others 0. What a captured call does can
// therefore be done again by any replay, with no number that counts calls.
#pragma once

#include "core/direct_device/buffers.h"
#include "core/direct_device/plan.h"
#include "core/direct_device/reduce.h"
#include "core/direct_device/signals.h"
#include "core/stream/request.h"

namespace rondo::direct_device {

class Running {
 public:
  /// `turn`: the half of its first slice. `number`: of the call, to be written as begun and
  /// completed; 0: it is captured, and nobody is told. `entries_before`: of all calls before.
  Running(const Area& area, const stream::Request& request, Buffers buffers, int turn,
          std::uint64_t number, std::uint32_t entries_before);

  /// Whether it reads windows of other ranks.
  bool reads_windows() const { return plan_.shows_buffers(); }
  /// Half of the first slice of the call behind it.
  int next_turn() const;
  /// Puts the next piece into the stream; false when that was the last one. Throws CudaError.
  bool advance();
  /// About how many entries of a driver's queue were put there, and how many of them the stream has
  /// not done yet, as far as is known.
  std::size_t entries() const { return entries_; }
  std::size_t entries_left() const;

 private:
  int half_of(std::size_t slice) const;
  cuda::DevicePointer at(Where where, int rank, int half) const;
  cuda::DevicePointer own(Where where, int half) const { return at(where, area_.rank(), half); }
  void begin();
  void fill(std::size_t index);
  void fill_run(const Run& run, cuda::DevicePointer target) const;
  void empty(std::size_t index);
  void reduce(const Slice& slice, int half) const;
  void reduce_aside(const Slice& slice, int half, Reduction reduction) const;
  void pull(const std::vector<Pull>& pulls, Where from, int half) const;
  void await_readers();
  void end();
  void copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes) const;

  const Area& area_;
  stream::Request request_;
  const Buffers buffers_;
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
