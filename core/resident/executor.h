// Executor: calls of a communicator between devices, as co-resident kernels, which wait for the
// kernels of the other ranks. A call is one launch, with no flags in streams and no copies around
// it.
//
// The ranks meet in arenas (kernels/device/arena.h): device memory of each rank that all of them
// map. Whatever a call leaves for the next one, such as how many there were, is in the arenas. So a
// captured launch can be replayed. A launch carries its sizes by value. The program of an algorithm
// is copied to the device when it is used for the first time, and stays there.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/communicator/state.h"
#include "core/cuda/handles.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/plan/call_cache.h"
#include "core/resident/block_budget.h"
#include "core/resident/form.h"
#include "core/resident/programs.h"

namespace rondo::resident {

/// A rank's buffers in a call.
struct CallBuffers {
  device::Scalar scalar{};  ///< multiplies the input first
  cuda::DevicePointer input = 0;
  cuda::DevicePointer output = 0;
  /// Of all ranks, by rank, where peers touch them in windows; else empty.
  std::vector<cuda::DevicePointer> inputs{};
  std::vector<cuda::DevicePointer> outputs{};

  bool in_windows() const { return !inputs.empty() || !outputs.empty(); }
};

/// Threads: one at a time, but abort() and wait_record() from any.
class Executor {
 public:
  /// Collective, of ranks that all have a device and reach each other's memory. Null on every rank
  /// where kernels may not wait for each other (co_residency.h). RONDO_DEBUG=INFO says why, and so
  /// does a warning where RONDO_DEVICE_EXECUTOR=resident asked for them. Loads the kernels first,
  /// because the ranks compare how many blocks run at once. Throws what exchanging texts throws.
  /// `context`, which is current: whose stream the calls are in.
  static std::shared_ptr<Executor> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                        cuda::Context context);
  /// With its context current, and none of its kernels running: but for the end of one that has made its
  /// last mark.
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// How much of each rank's memory all must map, for connect(). It is zero at first, and aligned
  /// to 128. The same on all ranks.
  std::size_t bytes() const { return places_.end; }
  /// `places`: where that memory is, by rank. Call it once, before the first call, with the context
  /// current and stream captures relaxed. Throws CudaError.
  void connect(const std::vector<cuda::DevicePointer>& places);

  /// Whether calls of this shape are made here: the same on every rank. They have at least one
  /// element. Throws Error{configuration} where RONDO_ALGORITHM leaves no algorithm.
  bool serves(const Call& call);
  /// Which buffers of a call that is served peers touch where they lie, if these lie in windows. The
  /// same on every rank.
  WindowUse windows_of(const Call& call);

  /// Puts a call that is served into `stream`, of the context, which must be current. The first call
  /// of an algorithm waits until its program is on the device. Throws CudaError, and as
  /// Programs::find(). `marks`: words that the device reaches; this adds the count of blocks.
  void launch(const Call& call, const CallBuffers& buffers, const device::Marks& marks,
              cuda::Stream stream);

  /// Ends all kernels of this rank for good, also those to come, wherever they wait.
  void abort();
  /// Call it where kernels may still read the control when this is destroyed.
  void leave() { pinned_.leave(); }
  /// What the first of them to end early waited for, in words; nothing while none has said so.
  std::optional<std::string> wait_record() const;

 private:
  /// In a rank's memory, in bytes: its arena, the table of all arenas, the count of blocks that have ended,
  /// programs, scratch memory.
  struct Places {
    Places(int ranks, const device::ArenaShape& shape);
    std::size_t table;
    std::size_t blocks_ended;
    std::size_t programs;
    std::size_t scratch;
    std::size_t end;
    cuda::DevicePointer own = 0;
  };

  struct Chosen {
    Call call{};
    Choice choice{};
  };
  /// Of a program: what all its launches have in common, and its blocks.
  struct Launch {
    Call call{};
    device::RankContext context{};
    unsigned blocks = 0;
    const StoredProgram* program = nullptr;
  };

  Executor(const detail::CommunicatorState& state, cuda::Context context, std::uint32_t stripes,
           std::unique_ptr<BlockBudget> budget);
  device::Control& control() const;
  device::Control* control_on_device() const;
  std::byte* const* arenas() const;
  cuda::DevicePointer program_place(std::size_t number) const;
  void copy_in(cuda::DevicePointer to, std::span<const std::byte> from);
  device::Marks counted(device::Marks marks) const;
  device::SmallCall small_call(const Call& call, const Choice& choice,
                               const CallBuffers& buffers) const;
  bool takes(const Composition& composition, const Call& call) const;
  const Launch& prepared(const Call& call, const Composition& composition, bool in_windows);
  device::RankContext program_call(const Call& call, const Launch& prepared,
                                   const CallBuffers& buffers) const;
  const Chosen& chosen(const Call& call);
  std::shared_ptr<const Chosen> choose_for(const Call& call);
  std::shared_ptr<const Launch> prepare(const Call& call, const ProgramKey& key);

  const int rank_;
  const Topology around_;
  const AlgorithmSelection& selection_;  ///< of the communicator, which outlives this
  const device::ArenaShape shape_;
  const cuda::ResidentKernels& kernels_;
  const std::unique_ptr<BlockBudget> budget_;
  Places places_;
  cuda::PinnedMemory pinned_;  ///< the control, then what copy_in() copies
  cuda::OwnedStream copies_;
  Programs programs_;
  CallCache<Chosen> chosen_{};
  CallCache<Launch> launches_{};
  CallCache<Launch> launches_in_windows_{};
};

}  // namespace rondo::resident
