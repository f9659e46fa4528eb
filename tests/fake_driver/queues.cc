// Hardware queues: what serves the streams of a context, one queue for each or one for several.
#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "tests/device/workers.h"
#include "tests/fake_driver/state.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

/// Does a queue's work until the queue is closed.
void serve(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock, [&] {
      return queue->context->failure == 0 && (!queue->work.empty() || queue->closed);
    });
    if (queue->work.empty()) return;
    Work work = std::move(queue->work.front());
    queue->work.pop();
    queue->idle = false;
    queue->room.notify_one();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    queue->idle = true;
  }
}

/// All queues that were made. Never destroyed, like the contexts.
struct Queues {
  std::mutex mutex{};
  std::vector<std::weak_ptr<Queue>> all{};
  std::size_t most_shared = 0;  ///< queues that a context's streams share; 0: each has its own
  struct Shared {
    std::vector<std::shared_ptr<Queue>> queues{};
    std::size_t streams = 0;  ///< made so far
  };
  std::map<cuda::Context, Shared> shared{};
};

Queues& queues() {
  static Queues& queues = *std::make_unique<Queues>().release();
  return queues;
}

/// With the queues' mutex held.
std::shared_ptr<Queue> make_queue(cuda::Context context, bool is_shared) {
  auto queue = std::make_shared<Queue>();
  queue->context = context;
  queue->is_shared = is_shared;
  std::erase_if(queues().all, [](const auto& each) { return each.expired(); });
  queues().all.push_back(queue);
  if (is_sanitized) {
    device::test::Workers::all().start([queue] { serve(queue); });
  } else {
    std::thread(serve, queue).detach();
  }
  return queue;
}

std::vector<std::shared_ptr<Queue>> queues_of(int device) {
  std::vector<std::shared_ptr<Queue>> theirs;
  const std::scoped_lock lock(queues().mutex);
  for (const auto& each : queues().all) {
    auto queue = each.lock();
    if (queue && queue->context->device == device) theirs.push_back(std::move(queue));
  }
  return theirs;
}

/// Puts the work after what is in the queue. False, and nothing is put, where the queue is idle.
bool put_behind(Queue& queue, Work work) {
  const std::scoped_lock lock(queue.mutex);
  if (queue.work.empty() && queue.idle) return false;
  queue.work.push(std::move(work));
  queue.changed.notify_one();
  return true;
}

}  // namespace

std::shared_ptr<Queue> own_queue(cuda::Context context) {
  const std::scoped_lock lock(queues().mutex);
  return make_queue(context, false);
}

std::shared_ptr<Queue> queue_of_next(cuda::Context context) {
  const std::scoped_lock lock(queues().mutex);
  const std::size_t most = queues().most_shared;
  if (most == 0) return make_queue(context, false);
  Queues::Shared& shared = queues().shared[context];
  const std::size_t place = shared.streams++ % most;
  if (place == shared.queues.size()) shared.queues.push_back(make_queue(context, true));
  return shared.queues[place];
}

SharedToken end_of(Queue& queue) {
  const auto end = std::make_shared<Token>();
  return put_behind(queue, [end] { end->set(); }) ? end : nullptr;
}

void forget_work(cuda::Context context) {
  for (const auto& queue : queues_of(context->device)) {
    std::queue<Work> forgotten;
    const std::scoped_lock lock(queue->mutex);
    queue->work.swap(forgotten);
  }
}

void keep_for_streams(int device, const std::shared_ptr<void>& memory) {
  for (const auto& queue : queues_of(device)) put_behind(*queue, [memory] {});
}

void wait_for_streams(int device) {
  std::vector<SharedToken> ends;
  for (const auto& queue : queues_of(device)) {
    if (queue->context->failure != 0) continue;
    if (SharedToken end = end_of(*queue)) ends.push_back(std::move(end));
  }
  for (const SharedToken& end : ends) end->wait();
}

}  // namespace rondo::test

using namespace rondo::test;

extern "C" {

void fake_share_queues(std::size_t queues_of_context) {
  const std::scoped_lock lock(queues().mutex);
  queues().most_shared = queues_of_context;
  queues().shared.clear();
}
}
