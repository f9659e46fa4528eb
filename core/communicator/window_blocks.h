// WindowBlocks: the blocks that the ranks gave to windows, and where they lie in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator/state.h"

namespace rondo::detail {

/// A window's number is the same on all ranks, and never used again. Calls by the owner of the
/// windows; the progress thread calls part_of() under the progress lock.
class WindowBlocks {
 public:
  struct Block {
    std::size_t bytes = 0;
    std::byte* here = nullptr;      ///< null: this process does not reach it
    std::shared_ptr<void> owner{};  ///< keeps it there, where its rank is a thread of this process
  };

  /// `state` outlives it.
  explicit WindowBlocks(CommunicatorState& state) : state_(state) {}

  /// Collective. Returns the number. Throws Error{out_of_memory} or Error{system} where a peer's
  /// block cannot be mapped.
  /// `owner`: of this rank's block, for peers that are threads of this process; null: nobody.
  std::uint32_t add(void* memory, std::size_t bytes, const std::shared_ptr<void>& owner = {});
  /// What peers still send to it fails their calls and this rank's.
  void remove(std::uint32_t number) { windows_[number].clear(); }

  /// `bytes` at `offset` of a rank's block. Throws Error{invalid_argument} where they are not all in
  /// it, and Error{invalid_usage} where the window was closed.
  Block part_of(std::uint32_t number, int rank, std::size_t offset, std::size_t bytes) const;
  std::size_t bytes_of(std::uint32_t number, int rank) const;
  /// Some rank does not reach some block: the same on all ranks.
  bool needs_messages() const { return needs_messages_; }

 private:
  struct Offer;

  std::byte* map(int peer, const Offer& offer);
  const Block& block(std::uint32_t number, int rank) const;

  CommunicatorState& state_;
  std::vector<std::vector<Block>> windows_{};  ///< by number and rank; empty: removed
  bool needs_messages_ = false;
};

}  // namespace rondo::detail
