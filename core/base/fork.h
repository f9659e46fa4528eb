// Children by fork() without exec: they hold copies of this process's descriptors and objects, but
// have neither its threads nor its place among the ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/unique_fd.h"

namespace rondo {

/// A descriptor that children by fork() must not hold. A connection ends for its peer only when no
/// process has it open any more, so a child that outlives this process would hide its end. While
/// this object lives, a child gets an empty file under the number instead, which it may close.
/// Destroy it before the descriptor is closed. Any thread.
class KeptFromChildren {
 public:
  explicit KeptFromChildren(int descriptor);
  ~KeptFromChildren();
  KeptFromChildren(const KeptFromChildren&) = delete;
  KeptFromChildren& operator=(const KeptFromChildren&) = delete;

 private:
  int descriptor_;
};

/// A descriptor that closes itself, and that children by fork() do not hold.
class UnforkedFd {
 public:
  UnforkedFd() = default;
  explicit UnforkedFd(UniqueFd descriptor)
      : descriptor_(std::move(descriptor)),
        kept_(descriptor_ ? std::make_unique<KeptFromChildren>(descriptor_.get()) : nullptr) {}

  int get() const { return descriptor_.get(); }
  explicit operator bool() const { return static_cast<bool>(descriptor_); }
  operator const UniqueFd&() const { return descriptor_; }
  /// From here on children hold it, too.
  UniqueFd take() {
    kept_.reset();
    return std::move(descriptor_);
  }

 private:
  UniqueFd descriptor_{};
  std::unique_ptr<KeptFromChildren> kept_{};  ///< goes first
};

/// Remembers the process that made it. Value type.
class MakerProcess {
 public:
  MakerProcess();
  /// False in a child by fork(), and in the children of that child. No system call. Any thread.
  bool is_this() const noexcept {
    return current_->load(std::memory_order_relaxed) == generation_;  // see fork.cc
  }

 private:
  const std::atomic<std::uint64_t>* current_;  ///< there until the process ends
  std::uint64_t generation_;
};

}  // namespace rondo
