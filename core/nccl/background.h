// Background: what goes on behind a member's back: work of threads of its own, and asynchronous
// calls that nobody has asked after yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "core/communicator/state.h"

namespace rondo::nccl {

using State = std::shared_ptr<detail::CommunicatorState>;
/// Makes the communicator; collective. Null: this rank is in none.
using Maker = std::function<State()>;

/// Asynchronous work and the memory it reads that is not the user's.
struct Pending {
  Work work{};
  std::vector<std::byte> scratch{};
};

/// Any thread.
class Background {
 public:
  /// Wraps work. The result runs it once, after all work that was wrapped before.
  Maker in_turn(Maker maker);
  /// Runs work on a thread of its own, which shares in `owner`. Throws Error{system} if there is no
  /// thread left. Then nothing has begun.
  void start(std::shared_ptr<void> owner, Maker work);
  /// Leaves asynchronous work under way.
  void keep(Pending pending);
  /// Forgets what is done, and keeps the first error of it. True when nothing is under way.
  bool is_done();
  /// The same for the thread that begins all that is here; it takes no lock where that is long done.
  bool is_known_done() { return !unfinished_.load(std::memory_order_relaxed) || is_done(); }
  /// Null, or what work has failed with since some was begun last.
  std::exception_ptr error();
  /// Waits for asynchronous work, however it ends.
  void wait_for_pending();
  /// Waits for threads, whatever they end with.
  void wait_for_threads();

 private:
  std::mutex mutex_{};
  std::shared_future<void> turn_{};  ///< ends with the newest that is in turn; under mutex_
  std::vector<Pending> pending_{};   ///< under mutex_
  std::vector<std::future<void>> threads_{};  ///< under mutex_
  std::exception_ptr error_{};                ///< under mutex_
  std::atomic<bool> unfinished_{false};       ///< relaxed: a hint that something is under way
};

}  // namespace rondo::nccl
