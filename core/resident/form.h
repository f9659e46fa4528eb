// Which form does a call between devices take? Either a co-resident kernel (written by hand, or a
// program), or the "finite" form: copies and kernels of core/direct_device, which wait for nothing.
// The choice is a pure function of what all ranks share, without any rank's own pointers. So all
// ranks choose alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/control/call.h"
#include "kernels/device/small.h"

namespace rondo::resident {

enum class Form : std::uint8_t {
  finite,
  small,    ///< an all-reduce by hand: kernels/device/small.h
  program,  ///< an image of a schedule: kernels/device/image.h
};

struct Choice {
  Form form = Form::finite;
  device::SmallAlgorithm algorithm = device::SmallAlgorithm::one_shot;  ///< of small
  std::uint32_t stripes = 1;                                            ///< of small: its blocks
};

/// The most blocks of one call.
inline constexpr std::uint32_t most_stripes = 8;
/// A call whose blocks all together (N in the algorithms' cost lines) have more bytes is finite:
/// copy engines then move them at the links' speed, and there is nothing to gain by saving flags.
/// Not measured: no GPU has run either.
inline constexpr std::size_t most_bytes = std::size_t{512} << 10;
/// The largest program of so many ranks is an image that fits a kernel's arguments.
inline constexpr int most_program_ranks = 16;

/// The arenas of `ranks` ranks.
device::ArenaShape arena_shape(int ranks);

/// The most bytes of a rank's input or output in a call that is not finite.
std::size_t most_held_bytes(int ranks);

/// `call` is a collective of at least one element in a communicator of at least 2 ranks.
///
///   all-reduce   up to 32 KiB a rank that adds a part  small: one_shot or two_shot, below
///   other sizes and collectives                        a program up to most_bytes
///   blocks that differ in size                         finite: a program is of equal ones
///   averages but small                                 finite, as programs divide before they add
///                                                      and would round otherwise
///   float32 accumulated in float64                     finite, which alone has a kernel for that
///
/// All of them add contributions at once and in the order of ranks.
///
/// One-shot takes one trip and sends N to each of P - 1 peers; two-shot takes two and sends N/P
/// twice to each: 2N(P-1)/P. So two-shot is faster from where (P-1)(P-2)/P * N bytes take longer
/// than a trip, which at 1 us a trip and 128 GB/s for packets (half of them flags) is 128 KiB: 85
/// KiB at 4 ranks, 24 KiB at 8, never at 2. These two numbers are assumptions.
Choice choose(const Call& call, int ranks);

}  // namespace rondo::resident
