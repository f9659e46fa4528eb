// What a rank is doing, in a form that other ranks can compare.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "rondo/types.h"

namespace rondo {

/// One call on one communicator. Collective calls are numbered 1, 2, ... in the order they were
/// made; sends and receives have a number of their own per peer and direction and are not logged.
struct Call {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  Collective collective = Collective::barrier;
  DataType type = DataType::uint8;
  ReduceOperator op = ReduceOperator::sum;
  std::int32_t root = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

/// "all_reduce #12 (1024 x float32, sum)".
std::string to_string(const Call& call);

/// 64 bits that ride in every frame of the call: equal calls, equal fingerprints. Never 0.
std::uint64_t fingerprint(const Call& call);

/// The last calls of one rank. Single writer (the thread that makes calls), any readers.
class CallLog {
 public:
  static constexpr std::size_t kept = 256;

  /// Before the call's first frame.
  void begin(const Call& call);
  /// When call `sequence` and all before it are complete.
  void complete(std::uint64_t sequence) { completed_.store(sequence, std::memory_order_release); }

  /// Newest begun sequence; 0: none yet.
  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  /// The call, unless it is too old or not begun.
  std::optional<Call> find(std::uint64_t sequence) const;

 private:
  /// A seqlock per entry: `sequence` is 0 while the words change, so a torn read is seen.
  struct Entry {
    std::atomic<std::uint64_t> sequence{0};
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> kinds{0};  ///< collective, type, op, root packed
  };
  std::array<Entry, kept> entries_{};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> completed_{0};
};

}  // namespace rondo
