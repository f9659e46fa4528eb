// The one kernel that waits for no other: it combines pieces of memory and hands out the result.
// Copies are included.
//
// A launch does pieces of one shape side by side. A piece reads each of its sources once and writes
// each of its targets once:
//
//   target[t][i] = (source[0][i] (op) source[1][i] (op) ...) * factor / divisor    for i < count
//
// - With one source it is a copy. With one piece for each block it is reduce-scatter, all-gather,
//   and so on.
// - No thread waits for another one, so a launch ends whatever else runs on the device.
// - A thread reads an element of all sources before it writes it to any target. So a target may be
//   a source of the same piece. No other overlap of a target is allowed.
//
// The numbers are those of kernels/cpu/reduce.h: see combine.h.
#pragma once

#include "kernels/device/combine.h"

namespace rondo::device {

inline constexpr std::size_t max_sources = 64;     ///< of a piece; targets as well
inline constexpr std::size_t launch_bytes = 4096;  ///< what all devices take as arguments
inline constexpr std::size_t max_pointers = 440;   ///< of a launch

/// A kernel's arguments, by value: a captured graph keeps them. Plain data, the same on the host
/// and the device.
struct Pieces {
  std::uint64_t count;    ///< elements of each source and target
  double factor;          ///< floats: the result is multiplied by this; 1: nothing
  std::uint64_t divisor;  ///< integers: the result is divided by this, truncating; 1: nothing
  std::uint64_t scaled;   ///< bit j: scales[j] multiplies source j, rounded, before the rest
  std::uint64_t
      scales_in_memory;   ///< bit j: scales[j] is the scalar's device address, not its bits
  std::uint32_t sources;  ///< of each piece
  std::uint32_t targets;  ///< of each piece
  ReduceOperator op;      ///< avg is sum here
  std::uint64_t scales[max_sources];
  /// For each piece its sources, then its targets; a target of 0 is left out.
  std::uint64_t pointers[max_pointers];
};
static_assert(sizeof(Pieces) <= launch_bytes);

/// The kernel that combines float32 in float64. The others are one for each type, by DataType.
inline constexpr std::size_t float32_in_double = data_types.size();
/// The names of the kernels.
inline constexpr std::array<const char*, data_types.size() + 1> kernel_names{
    "rondo_combine_int8",        "rondo_combine_uint8",       "rondo_combine_int16",
    "rondo_combine_uint16",      "rondo_combine_int32",       "rondo_combine_uint32",
    "rondo_combine_int64",       "rondo_combine_uint64",      "rondo_combine_float16",
    "rondo_combine_bfloat16",    "rondo_combine_float32",     "rondo_combine_float64",
    "rondo_combine_float8_e4m3", "rondo_combine_float8_e5m2", "rondo_combine_float32_in_double",
};

/// The most threads of a block.
inline constexpr unsigned combine_threads = 256;

/// A piece as one thread goes through it.
template <class E>
class PieceRun {
 public:
  RONDO_DEVICE PieceRun(const Pieces& call, std::uint32_t piece)
      : call_(call),
        pointers_(call.pointers + std::size_t{piece} * (call.sources + call.targets)) {}

  RONDO_DEVICE void run(Share share) const {
    share_out<sizeof(typename E::Storage)>(
        call_.count, aligned(), share,
        [this]<int lanes, int vectors>(std::size_t first, std::size_t stride) {
          this->template combine<lanes, vectors>(first, stride);
        });
  }

 private:
  using W = typename E::Work;

  RONDO_DEVICE bool aligned() const {
    std::uint64_t together = 0;
    for (std::uint32_t j = 0; j < call_.sources + call_.targets; ++j) together |= pointers_[j];
    return together % 16 == 0;
  }

  RONDO_DEVICE Factor<E> factor(std::uint32_t j) const {
    if ((call_.scaled >> j & 1) == 0) return {};
    const std::uint64_t& known = call_.scales[j];
    const auto* const at = (call_.scales_in_memory >> j & 1) != 0
                               ? reinterpret_cast<const std::byte*>(known)
                               : reinterpret_cast<const std::byte*>(&known);
    return {true, E::widen(load_vector<typename E::Storage>(at))};
  }

  /// `vectors` vectors of the result, `stride` vectors apart, the first at vector `first`.
  template <int lanes, int vectors>
  RONDO_DEVICE void combine(std::size_t first, std::size_t stride) const {
    using V = Vector<E, lanes>;
    auto work = combine_sources<E, lanes, vectors>(
        call_.op, call_.sources,
        [&](std::uint32_t j) { return reinterpret_cast<const std::byte*>(pointers_[j]); },
        [&](std::uint32_t j) { return factor(j); }, first, stride);
    work.divide(call_.divisor);
    V results[vectors];
    RONDO_UNROLL
    for (int v = 0; v < vectors; ++v) results[v] = work.result(v, call_.factor);
    for (std::uint32_t t = 0; t < call_.targets; ++t) {
      auto* const target = reinterpret_cast<std::byte*>(pointers_[call_.sources + t]);
      if (target == nullptr) continue;
      RONDO_UNROLL
      for (int v = 0; v < vectors; ++v)
        store_vector(target + (first + v * stride) * sizeof(V), results[v]);
    }
  }

  const Pieces& call_;
  const std::uint64_t* pointers_;
};

}  // namespace rondo::device
