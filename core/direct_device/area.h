// Area: the device memory through which the ranks of one machine exchange data: of each rank two
// halves for collectives and slots for messages to each of the others, mapped by all of them, and
// the page of flags beside it.
//
// A rank's own halves are memory of its context. Those of others are reached by the same address
// where they are of this process (in another context by peer access), else by CUDA IPC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/communicator/state.h"
#include "core/cuda/handles.h"
#include "core/direct_device/page.h"

namespace rondo::direct_device {

class Area {
 public:
  static constexpr std::size_t half_bytes = std::size_t{4} << 20;
  static constexpr std::size_t halves_bytes = halves * half_bytes;
  static constexpr std::size_t most_slot_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_slots_bytes = std::size_t{8} << 20;  ///< of one rank

  /// Collective. Null where any rank cannot take part, on every rank alike; RONDO_DEBUG=INFO says
  /// why. `context` null: there is no device here. `line`: where else the ranks meet; set when the
  /// area is. Throws what exchanging texts throws.
  static std::unique_ptr<Area> make(const std::shared_ptr<detail::CommunicatorState>& state,
                                    cuda::Context context, std::shared_ptr<ControlLine>& line);
  /// The context must be current. Whoever may still read the own halves: see is_read().
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  cuda::Context context() const { return context_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const SharedPage& page() const { return *page_; }
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
  std::size_t bytes() const {
    return halves_bytes + static_cast<std::size_t>((ranks_ - 1) * slots) * slot_bytes_;
  }
  /// Every rank can reduce on its device.
  bool reduces() const { return reduces_; }

  /// Unmaps the others' memory, which nothing in any stream may need any more. The context must be
  /// current.
  void close();
  /// Whether a peer that lives may still map the own halves.
  bool is_read() const;

 private:
  Area(cuda::Context context, int rank, int ranks);
  class Offer;
  /// Says what the others need to map what this rank has.
  Offer offer();
  /// Maps what they have. Throws CudaError, Error{system}.
  void connect(const std::vector<Offer>& offers);

  const cuda::Context context_;
  const int rank_;
  const int ranks_;
  const std::size_t slot_bytes_;
  bool reduces_ = false;
  std::shared_ptr<SharedPage> page_{};  ///< with all ranks of rank 0's process, or its own mapping
  cuda::DevicePointer own_ = 0;
  std::vector<cuda::DevicePointer> halves_{};  ///< by rank; slots are behind them
  std::vector<cuda::DevicePointer> opened_{};  ///< of them, what close() closes
  std::vector<int> processes_{};               ///< by rank
};

}  // namespace rondo::direct_device
