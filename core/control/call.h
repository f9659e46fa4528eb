// What a rank is doing, in a form that other ranks can compare.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rondo/operator.h"
#include "rondo/types.h"

namespace rondo {

/// What the ranks' operators must have alike, name, size and kind: not 0, and below 2^22.
std::uint32_t operator_code(const Operator& own);

/// One call on one communicator. Collective calls are numbered 1, 2, ... in the order they were
/// made; sends and receives have a number of their own per peer and direction and are not logged.
struct Call {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  Collective collective = Collective::barrier;
  DataType type = DataType::uint8;
  ReduceOperator op = ReduceOperator::sum;
  std::int32_t root = 0;
  /// 0: `count` is of one block, or of the vector. Else the blocks differ in size: it is of all of
  /// them together, and this a fingerprint of their counts (core/plan/ragged.h).
  std::uint64_t blocks = 0;
  DataType accumulate = type;  ///< of reductions; the type: as usual
  bool reproducible = false;   ///< of reductions
  bool on_devices = false;     ///< in the log of a Whole: in steps between devices (whole.h)
  /// 0: `type` and `op` hold. Else the caller's own operator, as operator_code() has it.
  std::uint32_t operator_code = 0;
  const Operator* own = nullptr;  ///< that operator, on the rank that makes the call

  friend bool operator==(const Call& a, const Call& b) {
    return a.sequence == b.sequence && alike(a, b);
  }
  /// But for the sequence. One operator may lie at different places.
  friend bool alike(const Call& a, const Call& b) {
    return a.count == b.count && a.collective == b.collective && a.type == b.type && a.op == b.op &&
           a.root == b.root && a.blocks == b.blocks && a.accumulate == b.accumulate &&
           a.reproducible == b.reproducible && a.on_devices == b.on_devices &&
           a.operator_code == b.operator_code;
  }
};

constexpr Call reducing_call(Collective collective, std::size_t count, DataType type,
                             const Reduction& how, int root = 0) {
  return {.count = count,
          .collective = collective,
          .type = type,
          .op = how.op,
          .root = root,
          .accumulate = how.accumulate.value_or(type),
          .reproducible = how.reproducible};
}

inline Call reducing_call(Collective collective, std::size_t count, const Operator& own,
                          int root = 0) {
  return {.count = count,
          .collective = collective,
          .root = root,
          .operator_code = operator_code(own),
          .own = &own};
}

constexpr std::size_t element_bytes(const Call& call) {
  return call.own != nullptr ? call.own->element_bytes : size_of(call.type);
}

/// Call::blocks of an all_to_all_v, which knows no count that all ranks share, and of the messages
/// that it consists of.
inline constexpr std::uint64_t between_pairs = 1;

/// The message that a block of so many elements is, on both sides.
constexpr Call message_between(std::size_t count, DataType type) {
  return {
      .count = count, .collective = Collective::send_recv, .type = type, .blocks = between_pairs};
}

/// "all_gather", or "all_gather_v" where the blocks differ in size.
inline std::string full_name(const Call& call) {
  const bool message = call.collective == Collective::send_recv;
  return std::string(name(call.collective)) + (call.blocks != 0 && !message ? "_v" : "");
}

/// "all_reduce #12 (1024 x float32, sum)", "all_gather_v #12 (1024 x float32 in all)".
std::string to_string(const Call& call);

/// Whether all contributions to an element must be combined at once and in the order of ranks.
constexpr bool wants_rank_order(const Call& call) {
  if (call.own != nullptr) {
    // Scans keep the order by any algorithm, but do not combine at once.
    const bool keeps_order = call.own->commutes == Commutes::yes || is_scan(call.collective);
    return !keeps_order || call.own->combine_all != nullptr;
  }
  return info(call.collective).reduces && is_float(call.type) &&
         (call.reproducible || call.accumulate != call.type);
}
/// Why they must: "reproducible: contributions are added in rank order"; empty: they need not.
std::string rank_order_words(const Call& call);

inline constexpr std::uint64_t reproducible_bit = std::uint64_t{1} << 31;
inline constexpr std::uint64_t on_devices_bit = std::uint64_t{1} << 30;
inline constexpr std::uint64_t own_bit = std::uint64_t{1} << 15;

/// The small fields in one word: collective, type, operator, accumulating type and two bits from the
/// lowest byte up, then root. An operator code takes the place of those between.
constexpr std::uint64_t kinds_of(const Call& call) {
  const std::uint64_t code = call.operator_code;
  const std::uint64_t kinds =
      code != 0
          ? own_bit | (code & 0x7f) << 8 | (code >> 7 & 0xff) << 16 | (code >> 15) << 24
          : static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op) << 16 |
                static_cast<std::uint64_t>(call.accumulate) << 24 |
                (call.reproducible ? reproducible_bit : 0) | (call.on_devices ? on_devices_bit : 0);
  return static_cast<std::uint64_t>(call.collective) | kinds |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32;
}

/// 64 bits that ride in every frame of the call: equal calls, equal fingerprints. Never 0.
std::uint64_t fingerprint(const Call& call);
/// What all calls that differ in nothing but the sequence share.
std::uint64_t fingerprint_base(const Call& call);
/// The fingerprint from that and the sequence: their sum, then the finaliser of MurmurHash3. Each
/// input bit reaches every output bit, in two multiplications after the sum.
constexpr std::uint64_t fingerprint(std::uint64_t base, std::uint64_t sequence) {
  std::uint64_t mixed = base + sequence * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ mixed >> 33) * 0xff51afd7ed558ccdULL;
  mixed = (mixed ^ mixed >> 33) * 0xc4ceb9fe1a85ec53ULL;
  mixed ^= mixed >> 33;
  return mixed != 0 ? mixed : 1;
}

/// The last calls of one rank. Single writer (the thread that makes calls), any readers. What every
/// call does is inline: it costs less than calling it.
class CallLog {
 public:
  static constexpr std::size_t kept = 256;

  /// Before the call's first frame.
  // Writer: sequence <- 0, words (release), sequence (release). A reader that sees a new word with
  // its acquire load therefore also sees the 0 before it, so its second look at `sequence` cannot
  // still find the old number. On x86 all of these are plain loads and stores.
  void begin(const Call& call) {
    Entry& entry = entries_[call.sequence % kept];
    entry.sequence.store(0, std::memory_order_relaxed);
    entry.count.store(call.count, std::memory_order_release);
    entry.kinds.store(kinds_of(call), std::memory_order_release);
    entry.blocks.store(call.blocks, std::memory_order_release);
    entry.sequence.store(call.sequence, std::memory_order_release);
    begun_.store(call.sequence, std::memory_order_release);
  }
  /// The same for a call that later calls do not wait for, and that waits for no earlier one.
  void begin_apart(const Call& call);
  /// When call `sequence` and all before it are complete, but for those apart.
  void complete(std::uint64_t sequence) {
    in_order_ = sequence;
    apart_.empty() ? completed_.store(sequence, std::memory_order_release) : reach();
  }
  void complete_apart(std::uint64_t sequence);

  /// Newest begun sequence; 0: none yet.
  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }
  /// It and all before it are complete. Never falls.
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  /// The call, unless it is too old or not begun.
  std::optional<Call> find(std::uint64_t sequence) const;

 private:
  /// A seqlock per entry: `sequence` is 0 while the words change, so a torn read is seen.
  struct Entry {
    std::atomic<std::uint64_t> sequence{0};
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> kinds{0};  ///< all else packed
    std::atomic<std::uint64_t> blocks{0};
  };
  struct Apart {
    std::uint64_t sequence;
    bool complete = false;
  };
  void reach();

  std::array<Entry, kept> entries_{};
  std::vector<Apart>
      apart_{};  ///< in their order, but those that `completed_` is past. The writer's
  std::uint64_t in_order_ = 0;  ///< calls up to here are complete but for those. The writer's
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> completed_{0};
};

}  // namespace rondo
