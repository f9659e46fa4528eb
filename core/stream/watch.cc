#include "core/stream/watch.h"

#include <thread>
#include <utility>

#include "core/base/threads.h"
#include "rondo/error.h"

namespace rondo::stream {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

/// The event is never recorded: what its query says is what the context says.
struct Watch::Question {
  explicit Question(cuda::SharedContext asked)
      : context(std::move(asked)), event(cuda::make_event()) {}
  ~Question() {
    if (status.load(std::memory_order_relaxed) != cuda::success) (void)event.release();
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  void ask() {
    const cuda::RelaxedCapture relaxed;  // else a capture elsewhere would be broken
    int answer = cuda::driver().ctx_push_current(context.get());
    if (answer == cuda::success) {
      answer = cuda::driver().event_query(event.get());
      cuda::Context popped = nullptr;
      cuda::driver().ctx_pop_current(&popped);
    }
    if (answer != cuda::not_ready) status.store(answer, std::memory_order_relaxed);
  }

  const cuda::SharedContext context;
  cuda::OwnedEvent event;  ///< dies with its context
  // Relaxed, all of them: they carry nothing but themselves.
  std::atomic<int> status{cuda::success};
  std::atomic<bool> is_asked{false};
  std::atomic<std::int64_t> asked_at{0};  ///< milliseconds of the steady clock
};

Watch::Watch(cuda::SharedContext context)
    : question_(std::make_shared<Question>(std::move(context))) {}

int Watch::seen() const { return question_->status.load(std::memory_order_relaxed); }

cuda::CudaError Watch::loss(int status, int rank) {
  const char* name = nullptr;
  cuda::driver().get_error_name(status, &name);
  return {
      ErrorCode::system,
      "the CUDA context of this communicator's streams is gone or broken: CUDA error " +
          std::to_string(status) + (name != nullptr ? " (" + std::string(name) + ")" : ""),
      {.rank = rank,
       .remedy = "look for an earlier failure of CUDA in this process, and destroy communicators "
                 "before their context"}};
}

int Watch::look() {
  const int status = seen();
  if (status != cuda::success) return status;
  constexpr std::int64_t pause = 1000;
  const std::int64_t now = milliseconds_now();
  if (now - question_->asked_at.load(std::memory_order_relaxed) < pause) return status;
  if (question_->is_asked.exchange(true, std::memory_order_relaxed)) return status;
  question_->asked_at.store(now, std::memory_order_relaxed);
  try {
    start_thread([question = question_] {
      question->ask();
      question->is_asked.store(false, std::memory_order_relaxed);
    }).detach();
  } catch (const Error&) {
    question_->is_asked.store(false, std::memory_order_relaxed);  // no thread left: next time
  }
  return status;
}

}  // namespace rondo::stream
