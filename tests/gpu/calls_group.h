// Ranks that share one GPU and one context, whose calls are co-resident kernels
// (kernels/cuda/calls.cu). Each rank has a launch in its own stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/control/call.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/resident/form.h"
#include "core/resident/programs.h"
#include "tests/nccl/device.h"

namespace rondo::gpu_test {

using DeviceBytes = test::DeviceBuffer<std::byte>;

/// A rank's buffers of one call, on the device.
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// So many ranks, or the most whose blocks device 0 runs at once. Its context is to be current.
int ranks_that_fit(int wanted);

/// Makes one call of all ranks after another, in the same arenas. For one thread.
class CallGroup {
 public:
  /// Device 0's context is to be current.
  /// `algorithm`: as RONDO_ALGORITHM has it.
  explicit CallGroup(int ranks, std::string_view algorithm = {});
  ~CallGroup();
  CallGroup(const CallGroup&) = delete;
  CallGroup& operator=(const CallGroup&) = delete;

  /// What all ranks choose for the call.
  resident::Choice choose(const Call& call) const;
  /// Puts the call into the ranks' streams. `buffers`: by rank. `in_windows`: all reach them, and the
  /// call uses that.
  void launch(const Call& call, const std::vector<Buffers>& buffers, bool in_windows = false);
  /// Whether it can be launched in windows.
  bool uses_windows(const Call& call);
  cuda::Stream stream(int rank) const;
  /// Waits for all streams. Throws Error{system} where a kernel has not marked its end.
  void finish() const;
  /// What the first wait to give up waited for, in words; empty: none did.
  std::string failure() const;
  int ranks() const { return static_cast<int>(members_.size()); }

 private:
  struct Rank;
  void launch_small(const Call& call, const resident::Choice& choice, int rank,
                    const Buffers& buffers) const;
  void launch_program(const Call& call, const resident::ProgramKey& key, Rank& member,
                      const std::vector<Buffers>& buffers) const;

  const cuda::ResidentKernels& kernels_;
  const AlgorithmSelection selection_;
  std::vector<std::unique_ptr<Rank>> members_{};
  std::unique_ptr<test::DeviceBuffer<std::byte*>> arenas_{};
};

}  // namespace rondo::gpu_test
