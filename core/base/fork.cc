#include "core/base/fork.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace rondo {
namespace {

/// Never destroyed: a process may fork while it ends.
struct Process {
  /// How many forks lie between this process and the first one that asked. Relaxed: it changes only
  /// where a child has no other thread yet.
  std::atomic<std::uint64_t> generation{0};
  std::mutex mutex{};              ///< held over each fork, so that a child finds the list whole
  std::vector<int> descriptors{};  ///< that children do not get; under mutex
};

Process& process();

void before_fork() { process().mutex.lock(); }
void after_fork() { process().mutex.unlock(); }

/// In the child, where only functions that are safe in signal handlers may be called.
void in_child() {
  Process& child = process();
  child.generation.fetch_add(1, std::memory_order_relaxed);  // pairs with nothing: see there
  const int empty = child.descriptors.empty() ? -1 : ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : child.descriptors) {
    if (empty < 0 || ::dup3(empty, descriptor, O_CLOEXEC) < 0) ::close(descriptor);
  }
  if (empty >= 0) ::close(empty);
  child.descriptors.clear();  // what it opens under these numbers is its own
  after_fork();
}

Process& process() {
  static Process& one = *[] {
    auto made = std::make_unique<Process>();
    ::pthread_atfork(before_fork, after_fork, in_child);
    return made.release();
  }();
  return one;
}

}  // namespace

KeptFromChildren::KeptFromChildren(int descriptor) : descriptor_(descriptor) {
  const std::scoped_lock lock(process().mutex);
  process().descriptors.push_back(descriptor);
}

KeptFromChildren::~KeptFromChildren() {
  const std::scoped_lock lock(process().mutex);
  std::erase(process().descriptors, descriptor_);
}

MakerProcess::MakerProcess()
    : current_(&process().generation), generation_(current_->load(std::memory_order_relaxed)) {}

}  // namespace rondo
