#include "bench/floor/promises.h"

#include <sched.h>

#include <cstring>
#include <stdexcept>

#include "bench/floor/vector_data.h"
#include "core/execute/cache_line.h"

namespace rondo::bench {
namespace {

constexpr unsigned looks_before_yield = 5000;  ///< as in Flags: only where members share a core

constexpr std::uint64_t places = detail::slots_for(false);  ///< as where no ranks share a core

/// The arguments that rondo looks at, too, as a Call.
Call call_of(std::size_t count, DataType type, ReduceOperator op) {
  return {.count = count, .collective = Collective::all_reduce, .type = type, .op = op};
}

[[noreturn]] void broken(const char* what) { throw std::runtime_error(what); }

}  // namespace

std::size_t Promises::bytes_for(int members) {
  return static_cast<std::size_t>(members) * sizeof(Shared);
}

Promises::Promises(Member& member, SharedMemory& memory)
    : member_(member),
      shared_(reinterpret_cast<Shared*>(memory.data())),  // zero bytes are unused control blocks
      own_(shared_[member.rank()]),
      operands_(static_cast<std::size_t>(member.size())) {}

template <Promises::Level level>
void Promises::wake_others() {
  if constexpr (level < Level::failures) return;
  for (int member = 0; member < member_.size(); ++member) {
    if (member != member_.rank()) ring(shared_[member].bell, UniqueFd());
  }
}

template <Promises::Level level>
void Promises::post(const float* input, std::size_t count, std::uint64_t tag) {
  detail::SharedSlot& mine = own_.board.slots[number_ % places];
  mine.tag = tag;
  std::memcpy(mine.payload.data(), input, count * sizeof(float));
  // release: publishes tag and payload; pairs with await_post()'s acquire.
  mine.call.store(number_, std::memory_order_release);
  wake_others<level>();
}

void Promises::claim_next_place() {
  const detail::SharedSlot& next = own_.board.slots[(number_ + 1) % places];
  detail::claim_line(&next);
  detail::claim_line(&next.fingerprint);  // peers' prefetchers have read that, too
}

const detail::SharedSlot& Promises::await_post(int member) const {
  const detail::SharedSlot& post = shared_[member].board.slots[number_ % places];
  // acquire: pairs with post()'s release. A post is written anew only eight calls later. Its writer
  // reaches that call only after this member's next posts.
  for (unsigned looks = 0; post.call.load(std::memory_order_acquire) != number_; ++looks) {
    if (looks > looks_before_yield) ::sched_yield();
  }
  return post;
}

template <Promises::Level level>
void Promises::gather(const float* input, float* output, std::size_t count, std::uint64_t tag) {
  for (int member = 0; member < member_.size(); ++member) {
    const auto at = static_cast<std::size_t>(member);
    operands_[at] = input;
    if (member == member_.rank()) continue;
    const detail::SharedSlot& post = await_post(member);
    if (level >= Level::agreement && post.tag != tag) broken("the members' calls differ");
    operands_[at] = post.payload.data();
  }
  void* const to = output;
  reduction_({&to, 1}, operands_, count);
}

template <Promises::Level level>
[[gnu::noinline]] void Promises::all_reduce(const float* input, float* output, std::size_t count,
                                            DataType type, ReduceOperator op) {
  std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
  if constexpr (level >= Level::log) turn.lock();
  Call call = call_of(count, type, op);
  if constexpr (level >= Level::failures) {
    if (input == nullptr || output == nullptr || call != prepared_) broken("wrong arguments");
    // acquire: another thread would describe a failure before it set the flag.
    if (own_.failed.load(std::memory_order_acquire) != 0) broken("a member has failed");
  }
  call.sequence = ++number_;
  if constexpr (level >= Level::log) log_.begin(call);
  std::uint64_t tag = 0;
  if constexpr (level >= Level::agreement) {
    const std::uint64_t print = fingerprint(call);
    tag = detail::tag_of(print, history_);
    history_ = history_ * 0x9e3779b97f4a7c15ULL + print;
  }
  post<level>(input, count, tag);
  claim_next_place();
  gather<level>(input, output, count, tag);
  if constexpr (level >= Level::failures) {
    // release: tells members that wait that the output is written and the peers' posts are read.
    own_.board.progress.step.store(number_ * detail::steps_per_call + detail::all_done,
                                   std::memory_order_release);
    wake_others<level>();
  }
  if constexpr (level >= Level::log) log_.complete(call.sequence);
}

template <Promises::Level level>
void Promises::add(const char* name, std::size_t bytes, std::vector<Probe>& probes) {
  const std::size_t count = bytes / sizeof(float);
  Trial trial{
      .run =
          [=, this](int calls) {
            for (int call = 0; call < calls; ++call) {
              all_reduce<level>(input_.data(), output_.data(), count, DataType::float32,
                                ReduceOperator::sum);
            }
          },
      .prepare = [=, this] { fill_vector(input_.data(), count, ++salt_, member_.rank()); },
      .check = [=, this] { check_sum(output_.data(), count, salt_, member_.size(), name); }};
  probes.push_back({name, bytes, 0, std::move(trial)});
}

void Promises::add(std::size_t bytes, std::vector<Probe>& probes) {
  const std::size_t count = bytes / sizeof(float);
  prepared_ = call_of(count, DataType::float32, ReduceOperator::sum);
  input_.resize(count);
  output_.resize(count);
  add<Level::data>(probe::promised_data, bytes, probes);
  add<Level::failures>(probe::promised_failures, bytes, probes);
  add<Level::log>(probe::promised_log, bytes, probes);
  add<Level::agreement>(probe::promised_all, bytes, probes);
}

}  // namespace rondo::bench
