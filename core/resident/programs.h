// One rank's device programs: a schedule for each collective, algorithm and root, lowered or merged for
// the rank, encoded, and copied to device memory, where they stay.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/control/call.h"
#include "core/resident/form.h"
#include "core/topology/topology.h"
#include "kernels/device/sizes.h"

namespace rondo::resident {

/// For each block: in windows the second stage of an all-reduce waits for the first one of all ranks. With
/// more bytes messages are faster, whose two overlap, by a model (bench/results/gpu-model-8-h100.txt).
inline constexpr std::size_t most_bytes_in_stages = std::size_t{512} << 10;

/// Bytes of the largest program, and how many programs a communicator keeps.
inline constexpr std::size_t program_bytes = std::size_t{16} << 10;
inline constexpr std::size_t most_programs = 64;

/// Which program.
struct ProgramKey {
  Composition composition{};
  int root = 0;
  bool in_windows = false;  ///< merged, with places in the ranks' windows

  friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
};

struct StoredProgram {
  Schedule schedule;
  device::Traits traits{};
  std::size_t number = 0;  ///< its place in the memory for programs

  /// A merged program has one.
  unsigned lanes() const { return traits.stages > 0 ? 1 : static_cast<unsigned>(schedule.lanes); }
};

/// Threads: one at a time.
class Programs {
 public:
  /// Copies a program to place `number` of the memory for programs. Returns when it is there.
  using Store = std::function<void(std::size_t number, std::span<const std::byte> program)>;

  Programs(int rank, const Topology& around, const device::ArenaShape& shape)
      : rank_(rank), around_(around), shape_(shape) {}

  /// Whether the program is kept, or there is a place for it. Ranks that make the same calls in the
  /// same order answer alike.
  bool has_room_for(const ProgramKey& key) const;
  /// Whether the programs of all ranks, for such a call, fit into a device's memory for them. The same on
  /// every rank. Throws what Composition::build() and lower_written() do.
  bool fits(const Composition& composition, const Call& call) const;
  /// Which windows a merged program of the call needs; none where there is no such program, where it
  /// would not be right or has too many stages, or where packets are faster. The same on every rank.
  WindowUse windows_of(const Composition& composition, const Call& call);
  /// The program; stored where it is new. Throws what `store` throws, Error{invalid_argument} where
  /// the algorithm has ops that a device cannot do, Error{internal} where the program is too long.
  const StoredProgram& find(const ProgramKey& key, const Store& store);
  /// What device::sizes_of() and device::windows_of() ask for: of `call`, whose program it is.
  device::SizeRequest request(const StoredProgram& program, const Call& call) const;

 private:
  /// A program before it is stored, and those of all ranks.
  struct Made {
    StoredProgram stored;
    std::vector<Program> programs{};
  };
  /// What is the same for all calls that a merged program serves.
  struct Merged {
    WindowUse windows{};
    Layout layout{};
  };
  Made made(const ProgramKey& key) const;
  Merged merged(const ProgramKey& key) const;
  bool has_room_for(const Made& made) const;
  StoredProgram make(const ProgramKey& key, const Store& store) const;

  const int rank_;
  const Topology around_;
  const device::ArenaShape shape_;
  std::map<ProgramKey, StoredProgram> stored_{};
  std::map<ProgramKey, Merged> merged_{};
};

}  // namespace rondo::resident
