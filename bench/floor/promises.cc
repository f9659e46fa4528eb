// Promises: a small all-reduce by hand, to which the promises of a library are added one by one.
//
// The bare exchange of flags (flags.h) adds nothing up, checks nothing, and cannot report a hang.
// This loop is that exchange with the data in the flag's cache line, as in rondo. Then each of
// rondo's promises is added, with rondo's own code where that is a separate part:
//
//   data       arguments come in, sums go out. Eight places are used in turn, so that no call needs
//              a second message. While a place's flags travel, the lines of the next are claimed.
//   failures   arguments are checked, a failure flag is read, sleepers are woken, progress is noted
//   lock, log  calls of several threads take turns, and another thread can ask what this rank does
//   agreement  a fingerprint of this call and of all earlier ones is sent along and compared
//
// Any library with the same promises must do the last step. The time that rondo takes beyond it is
// rondo's own. The loop has no schedule, no choice of an algorithm and no other transport.
#include <sched.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "bench/floor/all_reduce.h"
#include "bench/floor/sources.h"
#include "core/control/call.h"
#include "core/execute/cache_line.h"
#include "core/execute/control_block.h"
#include "core/transport/doorbell.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {
namespace {

constexpr unsigned looks_before_yield = 5000;  ///< as in Flags: only where members share a core

constexpr std::uint64_t places = detail::slots_for(false);  ///< as where no ranks share a core

/// The arguments that rondo looks at, too, as a Call.
Call call_of(std::size_t count, DataType type, ReduceOperator op) {
  return {.count = count, .collective = Collective::all_reduce, .type = type, .op = op};
}

[[noreturn]] void broken(const char* what) { throw std::runtime_error(what); }

class Promises {
 public:
  /// What a member shares: each member has a control block of its own.
  struct Shared {
    detail::RankLines board{};
    DoorbellWord bell{};  ///< nobody sleeps here: the cost is that of looking
    std::atomic<std::uint32_t> failed{0};
  };
  /// How much is promised. Each level includes those before it.
  enum class Level : std::uint8_t { data, failures, log, agreement };

  Promises(Member& member, SharedMemory& memory, std::size_t bytes)
      : member_(member),
        shared_(reinterpret_cast<Shared*>(memory.data())),  // zero bytes are unused control blocks
        own_(shared_[member.rank()]),
        prepared_(call_of(bytes / sizeof(float), DataType::float32, ReduceOperator::sum)),
        operands_(static_cast<std::size_t>(member.size())),
        input_(prepared_.count),
        output_(prepared_.count) {}

  Vectors vectors() { return {input_.data(), output_.data(), input_.size() * sizeof(float)}; }
  /// Makes one call. Throws std::runtime_error where a promise is broken.
  template <Level level>
  void all_reduce(const float* input, float* output, std::size_t count, DataType type,
                  ReduceOperator op);

 private:
  template <Level level>
  void post(const float* input, std::size_t count, std::uint64_t tag);
  template <Level level>
  void gather(const float* input, float* output, std::size_t count, std::uint64_t tag);
  template <Level level>
  void wake_others();
  void claim_next_place();
  const detail::SharedSlot& await_post(int member) const;

  Member& member_;
  Shared* shared_;
  Shared& own_;
  std::uint64_t number_ = 0;   ///< the call's number, alike on all members
  std::uint64_t history_ = 0;  ///< a hash of all calls before it
  Call prepared_;              ///< arguments of the call that is repeated
  ReductionKernel reduction_{};
  std::vector<const void*> operands_;
  std::mutex turn_{};
  CallLog log_{};
  std::vector<float> input_;
  std::vector<float> output_;
};

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
Probe probe_of(const Member& member, const std::shared_ptr<Promises>& loop, const char* name) {
  const Vectors vectors = loop->vectors();
  return all_reduce_probe(member, name, 0, vectors, [=] {
    loop->all_reduce<level>(vectors.input, vectors.output, vectors.count(), DataType::float32,
                            ReduceOperator::sum);
  });
}

}  // namespace

const std::size_t most_promised = detail::inline_payload;

std::size_t promise_bytes(int members) {
  return static_cast<std::size_t>(members) * sizeof(Promises::Shared);
}

Source promise_probes(Member& member, SharedMemory& memory, std::size_t smallest) {
  const auto loop = std::make_shared<Promises>(member, memory, smallest);
  return {[loop, smallest, &member](std::size_t bytes, std::vector<Probe>& probes) {
    if (bytes != smallest || bytes > most_promised) return;
    using Level = Promises::Level;
    probes.push_back(probe_of<Level::data>(member, loop, probe::promised_data));
    probes.push_back(probe_of<Level::failures>(member, loop, probe::promised_failures));
    probes.push_back(probe_of<Level::log>(member, loop, probe::promised_log));
    probes.push_back(probe_of<Level::agreement>(member, loop, probe::promised_all));
  }};
}

}  // namespace rondo::bench
