#include "core/communicator/window_blocks.h"

#include <string>

#include "core/communicator/remedies.h"
#include "core/control/exchange_values.h"

namespace rondo::detail {

/// What a rank tells the others of its block.
struct WindowBlocks::Offer {
  std::uint64_t bytes = 0;
  Exposed place{};
  bool direct = false;  ///< peers of this host can map it
  /// Where the owner lies that add() was given, for threads of the same process. They read it before
  /// the barrier that follows.
  std::uint64_t owner = 0;

  static void fields(auto& self, auto& archive) {
    archive(self.bytes, self.place.address, self.place.window, self.direct, self.owner);
  }
};

std::uint32_t WindowBlocks::add(void* memory, std::size_t bytes,
                                const std::shared_ptr<void>& owner) {
  DirectAccess* const direct = state_.connections().direct();
  Offer mine{.bytes = bytes, .owner = reinterpret_cast<std::uintptr_t>(owner ? &owner : nullptr)};
  if (direct != nullptr && bytes > 0) {
    const Progress::Lock lock(state_.progress());
    mine.place = direct->expose(memory, bytes);
    mine.direct = mine.place.window != 0;
  }
  const std::vector<Offer> offers = exchange_values(&state_, mine);
  std::vector<Block> blocks(offers.size());
  bool needs_messages = false;
  for (int rank = 0; rank < state_.size(); ++rank) {
    const Offer& offer = offers[static_cast<std::size_t>(rank)];
    Block& block = blocks[static_cast<std::size_t>(rank)];
    block.bytes = offer.bytes;
    if (rank == state_.rank()) {
      block.here = static_cast<std::byte*>(memory);
    } else if (offer.direct) {
      block.here = map(rank, offer);
      if (offer.owner != 0 && state_.connections().to(rank)->name() == "local")
        block.owner = *reinterpret_cast<const std::shared_ptr<void>*>(offer.owner);
    }
    needs_messages |= offer.bytes > 0 && !offer.direct && state_.size() > 1;
  }
  const Progress::Lock lock(state_.progress());  // peers of other windows are served meanwhile
  needs_messages_ |= needs_messages;
  windows_.push_back(std::move(blocks));
  return static_cast<std::uint32_t>(windows_.size() - 1);
}

/// Its owner makes progress until all ranks have it: it maps theirs, or is in the barrier that follows.
std::byte* WindowBlocks::map(int peer, const Offer& offer) {
  const Progress::Lock lock(state_.progress());
  std::byte* here = nullptr;
  state_.progress().drive_while([&] {
    state_.require_usable();
    if (state_.engine().direct_is_open())
      here = state_.connections().direct()->map(peer, offer.place, offer.bytes);
    return here == nullptr;
  });
  return here;
}

const WindowBlocks::Block& WindowBlocks::block(std::uint32_t number, int rank) const {
  if (number < windows_.size() && !windows_[number].empty())
    return windows_[number][static_cast<std::size_t>(rank)];
  throw Error(ErrorCode::invalid_usage,
              "there is no window " + std::to_string(number) + " any more",
              {.rank = state_.rank(), .remedy = "close a window when no rank uses it any more"});
}

std::size_t WindowBlocks::bytes_of(std::uint32_t number, int rank) const {
  return block(number, rank).bytes;
}

WindowBlocks::Block WindowBlocks::part_of(std::uint32_t number, int rank, std::size_t offset,
                                          std::size_t bytes) const {
  const Block& whole = block(number, rank);
  if (offset > whole.bytes || bytes > whole.bytes - offset) {
    throw Error(ErrorCode::invalid_argument,
                std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                    " are not in the window's block, which has " + std::to_string(whole.bytes) +
                    " bytes on rank " + std::to_string(rank),
                {.rank = state_.rank(), .remedy = std::string(remedies::smaller_place.words)});
  }
  return {.bytes = bytes, .here = whole.here == nullptr ? nullptr : whole.here + offset};
}

}  // namespace rondo::detail
