// Request: a call in a stream's order, as the program asked for it. Batch: several of them under
// way.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/communicator/state.h"
#include "core/stream/check_memory.h"
#include "core/stream/lane.h"
#include "core/stream/slices.h"

namespace rondo::stream {

/// Scales a rank's input before anything else is done with it: output[i] = input[i] * scalar. In
/// place is allowed.
using Scale =
    std::function<void(void* output, const void* input, std::size_t count, const void* scalar)>;

/// One call. Buffers may lie on the device or the host; those on the host are read and written in
/// the stream's order, too.
struct Request {
  Call call{};
  std::vector<std::size_t> counts{};  ///< of its blocks, where they differ (core/plan/ragged.h)
  const void* input = nullptr;
  void* output = nullptr;
  Locations where{};   ///< as check_memory() found them
  int peer = 0;        ///< of a message
  bool sends = false;  ///< a message's direction
  Scale scale{};       ///< empty: none
  const void* scalar = nullptr;
  bool scalar_later = false;  ///< it is read when the stream has come so far, not now
  cuda::Stream stream = nullptr;
};

/// Else it is a collective.
inline bool is_message(const Request& request) {
  return request.call.collective == Collective::send_recv;
}

/// Calls of a batch that ranks match by the order in which they begin: collectives, or messages of
/// one direction with one peer. They go through one lane, slice after slice, and the slices are
/// numbered on from call to call.
struct Kind {
  Lane* lane = nullptr;
  cuda::Stream apart = nullptr;      ///< to go on beside other kinds
  std::vector<std::size_t> items{};  ///< indices within the batch, in their order
  std::size_t slices = 0;            ///< of all of them
  bool waits = false;                ///< any of them does, see Item

  // For the thread that puts them into streams: slices that are there, and places in `items`.
  std::size_t entered = 0;
  std::size_t left = 0;
  std::size_t entering = 0;
  std::size_t leaving = 0;

  /// Slices that the worker has answered, so the stream has got so far. Relaxed: it orders nothing.
  std::atomic<std::size_t> answered{0};
};

/// A request under way: what the thread that put it into the stream and the worker both use.
struct Item {
  Request request{};
  Slices slices;
  Kind* kind = nullptr;
  std::size_t first = 0;  ///< number of its first slice within its kind
  bool scalar_on_device = false;
  /// It reads or writes what an earlier item of its kind writes, so it begins after that.
  bool waits = false;
  /// The item of its kind before it, all of whose slices begin before its own do; none: the first.
  std::optional<std::size_t> behind{};

  Lane& lane() const { return *kind->lane; }

  // The worker's, for one run of the batch.
  std::size_t at = 0;                            ///< slice
  std::shared_ptr<detail::Operation> running{};  ///< its call, if it has begun

  /// Slices whose `ready`, and those the wait for whose `done` was put into the stream: written by
  /// the thread that puts them there, read by the worker once Batch::cut is seen.
  std::size_t entered = 0;
  std::size_t left = 0;
};

/// A message of this rank to itself. It has the streams of both sides, as the calls of a batch
/// begin and end together.
struct OwnCopy {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  cuda::Stream sender = nullptr;
  cuda::Stream receiver = nullptr;
};

class Worker;

/// Calls of one communicator that run together: one, or a group.
struct Batch {
  std::shared_ptr<Worker> worker{};
  std::vector<Item> items{};
  std::vector<OwnCopy> copies{};  ///< beside the items, of which there is one at least
  std::deque<Kind> kinds{};       ///< whose addresses stay
  /// Putting it into the stream failed half way. Release after the items' `entered`, acquire by the
  /// worker, which then ends where the stream does.
  std::atomic<bool> cut{false};
  std::optional<cuda::Capture> capture{};  ///< that it is put into
  bool captured = false;                   ///< it runs whenever a graph does
  bool announced = false;  ///< the stream will tell the worker; of the thread that puts it there
  /// What keeps it in memory while only the driver knows of it: until it has run once, or until the
  /// graph is gone. Under the worker's mutex.
  std::shared_ptr<Batch> self{};
};

}  // namespace rondo::stream
