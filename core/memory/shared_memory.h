// Memory that processes share by passing a file descriptor: sealed memfds and their mappings.
// No name, no file system, gone with the last user.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/base/unique_fd.h"
#include "rondo/error.h"

namespace rondo {

/// A mapped file; unmaps itself.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* start, std::size_t bytes) : start_(start), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  std::byte* data() const { return start_; }
  std::size_t size() const { return bytes_; }
  explicit operator bool() const { return start_ != nullptr; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

struct SharedMemory {
  UniqueFd descriptor{};
  Mapping mapping{};
};

/// Zeroed memory of `bytes` (not 0) whose pages are there, near the calling thread, and whose size
/// cannot change: writing to it is never SIGBUS, in any process. `what` names it in errors.
/// Throws Error{out_of_memory} or Error{system}, with the details' rank and peer.
SharedMemory make_shared_memory(std::size_t bytes, const std::string& what,
                                const ErrorDetails& details = {});

/// Gives the pages back to the system at once, even while other processes map them; they read zeros
/// from here on. Without it the last process to unmap them spends the time for that.
void give_back(const SharedMemory& memory) noexcept;

/// Maps `bytes` of memory that another process made, pages present; empty when address space or
/// memory for page tables is short, or when the file is shorter or may be cut.
Mapping map_shared_memory(int descriptor, std::size_t bytes);

}  // namespace rondo
