// Which form does a call between devices take? Either a co-resident kernel (written by hand, or a
// program), or the "finite" form: copies and kernels of core/direct_device, which wait for nothing.
// The choice is a pure function of what all ranks share, without any rank's own pointers. So all
// ranks choose alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "algorithms/composition.h"
#include "core/control/call.h"
#include "core/plan/choose.h"
#include "core/plan/merge.h"
#include "kernels/device/small.h"

namespace rondo::resident {

enum class Form : std::uint8_t {
  finite,
  small,    ///< an all-reduce by hand: kernels/device/small.h
  program,  ///< the program of a schedule: kernels/device/program.h
};

struct Choice {
  Form form = Form::finite;
  device::SmallAlgorithm small = device::SmallAlgorithm::one_shot;  ///< of small
  std::uint32_t stripes = 1;                                        ///< of small: its blocks
  Composition composition{};                                        ///< of a program
};

/// Blocks of a communicator: the first of these for which its devices have room.
inline constexpr std::uint32_t stripe_counts[] = {32, 16, 8};
inline constexpr std::uint32_t most_stripes = stripe_counts[0];
inline constexpr std::uint32_t least_stripes = stripe_counts[2];
/// Blocks of an all-reduce by hand, at most.
inline constexpr std::uint32_t most_small_stripes = 8;

/// The arenas of `ranks` ranks. Frames of at most 128 KiB, and all frames of a rank together take at
/// most 32 MiB: not measured.
device::ArenaShape arena_shape(int ranks, std::uint32_t stripes);
/// Scratch memory of a rank, beside its arena.
std::size_t scratch_bytes(const device::ArenaShape& shape);

/// The algorithm of a collective's program where RONDO_ALGORITHM does not say otherwise: messages go
/// straight from where bytes are to where they are wanted, in one round (two_shot: two).
std::string_view default_algorithm(Collective collective);

/// Whose buffers peers touch in a call, where they lie in windows.
struct WindowUse {
  bool input = false;
  bool output = false;

  constexpr bool any() const { return input || output; }
};

/// How a collective's programs are merged for windows (core/plan/merge.h). None: they are not, as a rank
/// cannot tell where the buffers of others lie. NCCL allows any place for those of a root.
std::optional<Posted> posted_in_windows(Collective collective);

/// Whether the default algorithms are what the user wants: nothing else is named for the call, and no
/// schedule of the user's is for it. If not, a path that has no others (in place, copy engines) leaves
/// the call to one that has.
bool allows_default(const Call& call, Counts counts, const Topology& around,
                    const AlgorithmSelection& selection);

/// `call` is a collective of at least one element in a communicator of at least 2 ranks.
///
///   what a user wrote a schedule for                   a program
///   all-reduce   up to 32 KiB a rank that adds a part  small: one_shot or two_shot, below
///   other sizes and collectives                        a program
///   blocks that differ in size                         finite: a program is of equal ones
///   averages of integers by a forced algorithm         finite, unless it adds all contributions at
///                                                      once, as they are divided then. It is not
///                                                      the default, so the host makes the call
///   float32 accumulated in float64                     finite, which alone has a kernel for that
///
/// Default algorithms add contributions at once and in the order of ranks. Throws
/// Error{configuration} where `selection` leaves no algorithm.
///
/// One-shot takes one trip and sends N to each of P - 1 peers; two-shot takes two and sends N/P
/// twice to each: 2N(P-1)/P. So two-shot is faster from where (P-1)(P-2)/P * N bytes take longer
/// than a trip, which at 1 us a trip and 128 GB/s for packets (half of them flags) is 128 KiB: 85
/// KiB at 4 ranks, 24 KiB at 8, never at 2. These two numbers are assumptions.
Choice choose(const Call& call, const Topology& around, const AlgorithmSelection& selection);

}  // namespace rondo::resident
