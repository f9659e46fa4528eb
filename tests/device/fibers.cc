#include "tests/device/fibers.h"

#include <algorithm>
#include <utility>

namespace rondo::device::test {

Fibers::Fibers(std::size_t count, Pick pick) : fibers_(count), pick_(std::move(pick)) {}

bool Fibers::run(std::function<void(std::size_t)> body) {
  body_ = std::move(body);
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  for (std::size_t fiber = 0; fiber < fibers_.size(); ++fiber) {
    Fiber& made = fibers_[fiber];
    made.stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    getcontext(&made.context);
    made.context.uc_stack.ss_sp = made.stack.get();
    made.context.uc_stack.ss_size = stack_bytes;
    // A context's arguments are ints.
    makecontext(&made.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    ready_.push_back(fiber);
  }
  leave(caller_);
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  return ended_ == fibers_.size();
}

void Fibers::enter(unsigned high, unsigned low) {
  reinterpret_cast<Fibers*>(std::uintptr_t{high} << 32 | low)->run_current();
}
void Fibers::run_current() {
  const std::size_t self = current_;
  try {
    body_(self);
  } catch (...) {
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }
  ++ended_;
  std::erase(ready_, self);
  leave(fibers_[self].context);
}

std::size_t RandomPick::operator()(std::span<const std::size_t> ready) {
  const std::uint64_t luck = random_();
  if (luck % 512 == 0) slow_ = (luck >> 32) % fibers_;
  const std::size_t drawn = ready[(luck >> 16) % ready.size()];
  return drawn == slow_ && luck % 16 != 0 ? ready[(luck >> 40) % ready.size()] : drawn;
}
/// Goes on where the next one is; where the caller is when none can go on.
void Fibers::leave(ucontext_t& from) {
  if (ready_.empty()) {
    swapcontext(&from, &caller_);
    return;
  }
  const std::size_t before = current_;
  current_ = pick_(ready_);
  if (&from == &caller_ || current_ != before) swapcontext(&from, &fibers_[current_].context);
}

void Fibers::yield() { leave(fibers_[current_].context); }
void Fibers::block() {
  std::erase(ready_, current_);
  leave(fibers_[current_].context);
}
void Fibers::unblock(std::size_t fiber) { ready_.push_back(fiber); }

}  // namespace rondo::device::test
