// What calls take and return besides buffers: lists of blocks, and handles of asynchronous work.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace rondo {

class Communicator;

namespace detail {
class CommunicatorState;
class Operation;
struct CommunicatorAccess;
}  // namespace detail

/// Where the blocks of an all_to_all_v lie in one of a rank's buffers. Block r goes to rank r, or
/// comes from it. It has counts[r] elements and begins displacements[r] elements after the start of
/// the buffer. Without displacements the blocks follow each other in rank order.
struct Blocks {
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> displacements{};
};

/// A handle of asynchronous work. Copies refer to the same work. Dropping the handle does not
/// cancel the work. Any thread may call these functions. An empty handle is complete.
class Work {
 public:
  Work() = default;
  /// True once the work is complete. Makes progress. Throws the error that the work failed with.
  bool test();
  /// Returns when the work is complete. Makes progress on this thread. Throws the error that the
  /// work failed with.
  void wait();
  /// Calls `notice` once: when the work completes or fails, or at once if it already has.
  /// - At most one notice for each work.
  /// - `notice` runs on the thread that completes the work, which holds the communicator. So it
  ///   must be short, must not throw and must not call rondo.
  /// - test() and wait() may take a moment longer to agree.
  void when_complete(std::function<void()> notice);

 private:
  friend class Communicator;
  friend struct detail::CommunicatorAccess;
  std::shared_ptr<detail::CommunicatorState> state_;
  std::shared_ptr<detail::Operation> operation_;
};

}  // namespace rondo
