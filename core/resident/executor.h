// Executor: small calls of a communicator between devices, as co-resident kernels, which wait for
// the kernels of the other ranks. A call is one launch, with no flags in streams and no copies
// around it.
//
// The ranks meet in arenas (kernels/device/arena.h): device memory of each rank that all of them
// map. Whatever a call leaves for the next one, such as how many there were, is in the arenas. So a
// captured launch can be replayed. A launch carries its call by value, so nothing is copied for it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator/state.h"
#include "core/cuda/handles.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/resident/block_budget.h"
#include "core/resident/form.h"
#include "core/resident/programs.h"

namespace rondo::resident {

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
  /// With its context current, and none of its kernels running.
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// How much of each rank's memory all must map, for connect(). It is zero at first, and aligned
  /// to 128.
  static std::size_t bytes(int ranks);
  /// `places`: where that memory is, by rank. Call it once, before the first call, with the context
  /// current and stream captures relaxed. Throws CudaError.
  void connect(const std::vector<cuda::DevicePointer>& places);

  /// Whether calls of this shape are made here: the same on every rank. They have at least one
  /// element.
  bool serves(const Call& call) const { return choose(call, ranks_).form != Form::finite; }
  /// Bytes of a buffer that this rank has in the call.
  std::size_t held_bytes(const Call& call, Buffer buffer) const;
  /// Memory of this rank for an input that must be changed first: of most_held_bytes(). Calls
  /// follow each other, so it is free when a call begins.
  cuda::DevicePointer staged_input() const { return places_.own + places_.staged_input; }

  /// Puts a call that is served into `stream`, of the context, which must be current. Throws
  /// CudaError.
  void launch(const Call& call, cuda::DevicePointer input, cuda::DevicePointer output,
              cuda::Stream stream);

  /// Ends all kernels of this rank for good, also those to come, wherever they wait.
  void abort();
  /// Call it where kernels may still read the control when this is destroyed.
  void leave() { pinned_.leave(); }
  /// What the first of them to end early waited for, in words; nothing while none has said so.
  std::optional<std::string> wait_record() const;

 private:
  /// In a rank's memory, in bytes: its arena, the table of all arenas, and room for buffers.
  struct Places {
    explicit Places(int ranks);
    std::size_t table;
    std::size_t staged_input;
    std::size_t staged_output;
    std::size_t end;
    cuda::DevicePointer own = 0;
  };

  Executor(cuda::Context context, int rank, int ranks, std::unique_ptr<BlockBudget> budget);
  device::Control& control() const;
  std::byte* const* arenas() const;
  void launch_small(const Call& call, const Choice& choice, cuda::DevicePointer input,
                    cuda::DevicePointer output, cuda::Stream stream);
  void launch_program(const Call& call, cuda::DevicePointer input, cuda::DevicePointer output,
                      cuda::Stream stream);

  const int rank_;
  const int ranks_;
  const device::ArenaShape shape_;
  const cuda::ResidentKernels& kernels_;
  const std::unique_ptr<BlockBudget> budget_;
  Places places_;
  cuda::PinnedMemory pinned_;  ///< the control, then what connect() copies
  Programs programs_;
};

}  // namespace rondo::resident
