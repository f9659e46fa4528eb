// StagingHeap: device memory through which the ranks of one host exchange data. Every rank maps the
// memory of all others. Each rank has:
//
//   two halves          a double buffer, for collectives
//   slots for messages  to each of the other ranks
//   more                where core/resident needs it
//
// Beside it lies the segment of flags (flag_segment.h). A rank's own memory comes from cuMemAlloc,
// or from cuMemCreate where CUDA IPC cannot share that. exported.h reaches the memory of the others.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator/state.h"
#include "core/cuda/contexts.h"
#include "core/cuda/handles.h"
#include "core/direct_device/descriptors.h"
#include "core/direct_device/exported.h"
#include "core/direct_device/flag_segment.h"
#include "core/direct_device/process.h"

namespace rondo::direct_device {

/// What the first rank said that said anything, as "rank 2: ..."; empty: none did.
std::string first_said(const std::vector<std::string>& said);

class StagingHeap {
 public:
  static constexpr std::size_t half_bytes = std::size_t{4} << 20;
  static constexpr std::size_t halves_bytes = halves * half_bytes;
  static constexpr std::size_t most_slot_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_slots_bytes = std::size_t{8} << 20;  ///< of one rank

  /// Collective. Null on every rank alike if any rank cannot take part; RONDO_DEBUG=INFO says why.
  /// `context` null: there is no device here. `line`: where else the ranks meet; set when the heap
  /// is. `more`: collective, asked with the context current once all ranks have a device. It
  /// returns how many bytes each rank needs after the slots, the same on all ranks. `use`: what
  /// this rank does with the memory of all once it is mapped, before they agree. If it throws, no
  /// rank takes part. Throws what exchanging texts throws.
  static std::unique_ptr<StagingHeap> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                           const cuda::SharedContext& context,
                                           std::shared_ptr<ControlChannel>& line,
                                           const std::function<std::size_t()>& more,
                                           const std::function<void(const StagingHeap&)>& use);
  /// The context must be current, unless abandon() came before. Peers may still read the own
  /// halves: see is_read().
  ~StagingHeap();
  StagingHeap(const StagingHeap&) = delete;
  StagingHeap& operator=(const StagingHeap&) = delete;

  cuda::Context context() const { return context_.get(); }
  const cuda::SharedContext& shared_context() const { return context_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const FlagSegment& flags() const { return *flags_; }
  cuda::DevicePointer half(int rank, int half) const {
    return halves_[static_cast<std::size_t>(rank)] + static_cast<std::size_t>(half) * half_bytes;
  }
  /// For messages from one rank to another.
  cuda::DevicePointer slot(int from, int to, int slot) const {
    const int place = (to < from ? to : to - 1) * slots + slot;
    return halves_[static_cast<std::size_t>(from)] + halves_bytes +
           static_cast<std::size_t>(place) * slot_bytes_;
  }
  std::size_t slot_bytes() const { return slot_bytes_; }
  /// What a rank takes of its device's memory.
  std::size_t bytes() const { return bytes_before_more() + more_; }
  /// By rank: where the bytes after its slots begin; aligned to 4096. They are zero at first.
  std::vector<cuda::DevicePointer> more() const;
  /// Every rank can reduce on its device.
  bool reduces() const { return reduces_; }
  /// All ranks are threads of this process.
  bool in_one_process() const { return in_one_process_; }

  /// Unmaps the others' memory, which nothing in any stream may need any more. The context must be
  /// current.
  void close();
  /// Call it before close() where no stream of this rank needs anything of this heap any more.
  void finish() { is_done_ = true; }
  /// Until no peer that lives may still map the own halves. After a failure it waits 5 s at most,
  /// unless kernels of the peers may write there.
  void wait_for_peers(bool failed, bool is_written) const;
  /// Takes the place of close() when the context is gone, with all that this had in it. The driver
  /// may give the addresses out anew, so they must not be touched any more.
  void abandon();
  /// Whether that rank's process is there, as far as is known.
  bool lives(int rank) const { return processes_[static_cast<std::size_t>(rank)].lives(); }

 private:
  StagingHeap(cuda::SharedContext context, int rank, int ranks, std::size_t more);
  std::size_t bytes_before_more() const {
    return halves_bytes + static_cast<std::size_t>((ranks_ - 1) * slots) * slot_bytes_;
  }
  struct Offer;
  /// In place of close(), where a rank could not take part.
  void leave_unused();
  /// Takes this rank's memory, and says by what others reach it.
  Exported take_memory();
  Exported take_segment();
  /// Whether a peer that lives may still map the own halves.
  bool is_read() const;
  void tell_kept() const;
  /// Does not give the memory back.
  void leave_memory();
  /// Says what the others need to map what this rank has.
  Offer offer();
  void warn_of_few_queues(const std::vector<int>& queues) const;
  /// How the ranks' devices reach each other, for people.
  std::string links() const;
  /// Maps what they have. Throws CudaError, Error{system}.
  void connect(const std::vector<Offer>& offers, std::chrono::milliseconds patience);

  const cuda::SharedContext context_;
  cuda::OwnedStream stream_{};  ///< for what is done before the first call and after the last
  const int rank_;
  const int ranks_;
  const std::size_t slot_bytes_;
  const std::size_t more_;  ///< bytes after the slots
  bool reduces_ = false;
  bool in_one_process_ = false;
  bool is_done_ = false;  ///< see finish()
  std::shared_ptr<FlagSegment>
      flags_{};  ///< with all ranks of rank 0's process, or its own mapping
  cuda::DevicePointer own_ = 0;
  std::optional<cuda::MappedSegments> segment_{};  ///< where it lies, unless cuMemAlloc gave it
  std::shared_ptr<DescriptorServer> server_{};     ///< of it, while others map it
  std::vector<cuda::DevicePointer> halves_{};      ///< by rank; the slots follow them
  std::vector<Mapped> mapped_{};                   ///< those of others
  std::vector<Process> processes_{};               ///< by rank
};

}  // namespace rondo::direct_device
