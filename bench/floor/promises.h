// Promises: what a small all-reduce costs by hand, with what a library promises added part by part.
//
// The bare exchange of flags (flags.h) adds nothing up, checks nothing, and cannot say why it waits
// for ever. This loop is that exchange with the data in the flag's cache line, which is the way
// rondo takes too, and then with each of rondo's promises in turn, kept by rondo's own parts where
// it has them in one piece:
//
//   data       arguments in, sums out; eight places used in turn, so that no call needs a second
//              message; the next place's lines claimed while this one's flags travel
//   failures   arguments checked, a failure flag looked at, sleepers woken, progress told
//   lock, log  calls of several threads take turns; what a rank does can be asked from beside
//   agreement  a fingerprint of the call, and of all before it, sent along and compared
//
// The last step is what any library that promises the same must spend; what rondo spends beyond it
// is its own. No schedule, no choice, no other transport: nothing of that is in the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bench/floor/probe.h"
#include "bench/floor/team.h"
#include "core/control/call.h"
#include "core/execute/board.h"
#include "core/transport/doorbell.h"
#include "kernels/cpu/reduce.h"

namespace rondo::bench {

class Promises {
 public:
  /// `memory` is shared, zeroed and holds bytes_for(members); it outlives this.
  Promises(Member& member, SharedMemory& memory);
  static std::size_t bytes_for(int members);
  /// What fits beside the flag.
  static constexpr std::size_t most_bytes = detail::inline_payload;

  /// Probes of an all-reduce of `bytes` <= most_bytes of float32. They refer to this object.
  void add(std::size_t bytes, std::vector<Probe>& probes);

 private:
  /// What a member shares: each has a place on a board of its own.
  struct Shared {
    detail::RankBoard board{};
    DoorbellWord bell{};  ///< nobody sleeps here; the look is what is paid
    std::atomic<std::uint32_t> failed{0};
  };
  /// How much is promised; each includes those before it.
  enum class Level : std::uint8_t { data, failures, log, agreement };

  /// One call. Throws std::runtime_error where a promise is broken.
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
  const detail::Post& await_post(int member) const;

  Member& member_;
  Shared* shared_;
  Shared& own_;
  std::uint64_t number_ = 0;   ///< of the call, alike on all members
  std::uint64_t history_ = 0;  ///< of all before it
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
