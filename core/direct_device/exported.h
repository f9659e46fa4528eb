// Exported: a block of device memory as the rank that has it tells the others of it. Mapped: the
// same as another rank reaches it: by its address within a process (in another context by peer
// access), else by CUDA IPC, or, where it is of cuMemCreate, by its segments' file descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/segments.h"

namespace rondo::direct_device {

struct Exported {
  std::uint64_t process = 0;  ///< HostInfo's
  std::uintptr_t context = 0;
  cuda::DevicePointer address = 0;  ///< where the allocation begins, or the first segment
  bool shared = false;              ///< `handle` is there, or nobody needs it
  cuda::IpcHandle handle{};
  std::vector<std::size_t> segments{};  ///< bytes of each, of memory of cuMemCreate
  std::string handover{};  ///< where to ask for their descriptors, see handover.h; empty: nowhere

  /// Words apart by blanks.
  std::string str() const;
  /// Takes what str() said.
  static Exported parse(std::istream& text);
};

/// Of memory that begins at `address`; `shared`: CUDA IPC can name it. Throws CudaError.
Exported export_memory(cuda::Context context, cuda::DevicePointer address, bool shared);
/// Of memory of cuMemCreate; `segments`: not none.
Exported export_segments(cuda::Context context, const std::vector<cuda::Range>& segments);

/// Closes the mapping, if there is one, with what needed it in streams complete. The context that
/// mapped it must then be current.
class Mapped {
 public:
  /// For the current context. `patience`: with who hands a segment over. Throws CudaError,
  /// Error{system}. One handle may be opened several times: the driver counts.
  Mapped(const Exported& theirs, std::chrono::milliseconds patience);
  Mapped(Mapped&& other) noexcept
      : address_(other.address_),
        opened_(std::exchange(other.opened_, false)),
        segments_(std::move(other.segments_)) {}
  Mapped& operator=(Mapped&&) = delete;
  ~Mapped();

  cuda::DevicePointer address() const { return address_; }
  /// Leaves the mapping as it is: its context is gone.
  void abandon();

 private:
  void reach_in_process(const Exported& theirs);
  void map(const Exported& theirs, std::chrono::milliseconds patience);

  cuda::DevicePointer address_ = 0;
  bool opened_ = false;
  std::optional<cuda::MappedSegments> segments_{};
};

}  // namespace rondo::direct_device
