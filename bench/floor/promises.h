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
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bench/floor/probe.h"
#include "bench/floor/team.h"
#include "core/control/call.h"
#include "core/execute/control_block.h"
#include "core/transport/doorbell.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {

class Promises {
 public:
  /// `memory` is shared, zeroed and holds bytes_for(members); it outlives this.
  Promises(Member& member, SharedMemory& memory);
  static std::size_t bytes_for(int members);
  /// The most bytes that fit beside the flag.
  static constexpr std::size_t most_bytes = detail::inline_payload;

  /// Adds probes of an all-reduce of `bytes` <= most_bytes of float32. They refer to this object.
  void add(std::size_t bytes, std::vector<Probe>& probes);

 private:
  /// What a member shares: each member has a control block of its own.
  struct Shared {
    detail::RankLines board{};
    DoorbellWord bell{};  ///< nobody sleeps here: the cost is that of looking
    std::atomic<std::uint32_t> failed{0};
  };
  /// How much is promised. Each level includes those before it.
  enum class Level : std::uint8_t { data, failures, log, agreement };

  /// Makes one call. Throws std::runtime_error where a promise is broken.
  template <Level level>
  void all_reduce(const float* input, float* output, std::size_t count, DataType type,
                  ReduceOperator op);
  template <Level level>
  void post(const float* input, std::size_t count, std::uint64_t tag);
  template <Level level>
  void gather(const float* input, float* output, std::size_t count, std::uint64_t tag);
  template <Level level>
  void add(const char* name, std::size_t bytes, std::vector<Probe>& probes);
  template <Level level>
  void wake_others();
  void claim_next_place();
  const detail::SharedSlot& await_post(int member) const;

  Member& member_;
  Shared* shared_;
  Shared& own_;
  std::uint64_t number_ = 0;   ///< the call's number, alike on all members
  std::uint64_t history_ = 0;  ///< a hash of all calls before it
  Call prepared_{};            ///< arguments of the call that is repeated
  ReductionKernel reduction_{};
  std::vector<const void*> operands_{};
  std::mutex turn_{};
  CallLog log_{};
  std::vector<float> input_{};
  std::vector<float> output_{};
  std::size_t salt_ = 0;
};

}  // namespace rondo::bench
