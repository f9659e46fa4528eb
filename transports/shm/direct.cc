#include "transports/shm/direct.h"

#include <algorithm>
#include <utility>

namespace rondo::shm {

ShmAccess::ShmAccess(const TransportSettings& settings)
    : settings_(settings), windows_(Windows::of_process()) {
  for (int peer = 0; peer < settings.ranks; ++peer) peers_.emplace_back(settings.rank, peer);
}

void ShmAccess::meet(const std::vector<std::string>& addresses) {
  sockets_.resize(addresses.size());
  addresses_ = &addresses;
}

Error ShmAccess::other_board(int peer, std::size_t bytes) const {
  return errors().make(ErrorCode::internal, peer,
                       "ranks ask for control blocks of " + std::to_string(board_bytes_) + " and " +
                           std::to_string(bytes) + " bytes",
                       "use the same version of rondo on every rank");
}

// ---- the control block

std::size_t ShmAccess::header_bytes() const {
  constexpr std::size_t page = 4096;
  return (peers_.size() * sizeof(AskCounter) + page - 1) / page * page;
}

AskCounter& ShmAccess::counter(int rank) const {
  return reinterpret_cast<AskCounter*>(board_.data())[rank];
}

std::byte* ShmAccess::board(std::size_t bytes) {
  if (ready_ && bytes == board_bytes_) [[likely]]
    return board_.data() + header_bytes();
  if (failure_) throw Error(*failure_);
  if (board_bytes_ != 0 && bytes != board_bytes_) throw other_board(-1, bytes);
  board_bytes_ = bytes;
  wanted_ = true;
  if (settings_.rank == 0) make_board(bytes);
  for (const Peer& peer : peers_) {
    // A peer that has joined may leave once it has done its part: the control block keeps its data.
    if (peer.failure && !peer.bell) throw Error(*peer.failure);
  }
  see_whether_ready();
  return ready_ ? board_.data() + header_bytes() : nullptr;
}

/// Called on rank 0, at its own first call or for the first peer that asks.
void ShmAccess::make_board(std::size_t bytes) {
  if (board_) return;
  try {
    SharedMemory made = make_shared_memory(
        header_bytes() + bytes, "the ranks' control block",
        {.rank = settings_.rank,
         .remedy = "free some memory, or set RONDO_ALGORITHM=^direct (needs no control block) or "
                   "RONDO_TRANSPORT=^shm (needs no shared memory)"});
    board_memory_ = std::move(made.descriptor);
    board_ = std::move(made.mapping);
  } catch (const Error& failure) {
    failure_ = failure;  // for good: the peers are told so too
    throw;
  }
}

void ShmAccess::map_board(std::size_t bytes, const UniqueFd& memory) {
  board_ = map_shared_memory(memory.get(), header_bytes() + bytes);
  if (!board_) {
    throw errors().make(
        ErrorCode::out_of_memory, 0,
        "no room to map the ranks' control block of " + std::to_string(bytes) + " bytes",
        "raise vm.max_map_count, or free memory");
  }
}

void ShmAccess::see_whether_ready() {
  if (ready_ || !board_ || !wanted_) return;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    if (static_cast<int>(peer) != settings_.rank && !peers_[peer].bell) return;
  }
  ready_ = true;
  board_memory_.reset();
}

void ShmAccess::check(int peer) {
  const Peer& other = at(peer);
  if (other.failure) throw Error(*other.failure);
}

void ShmAccess::wake(int peer) {
  if (const auto& bell = at(peer).bell) bell->ring();
}

// ---- windows

Exposed ShmAccess::expose(const void* memory, std::size_t bytes) const {
  const auto window = windows_->find(memory, bytes);
  return {.address = reinterpret_cast<std::uintptr_t>(memory),
          .window = window ? window->number : 0};
}

std::byte* ShmAccess::map(int peer, const Exposed& place, std::size_t bytes) {
  PeerWindows& windows = at(peer).windows;
  if (std::byte* const here = windows.find(place, bytes)) return here;
  forget(peer);  // an offer may lie in the socket
  if (std::byte* const here = windows.find(place, bytes)) return here;
  windows.check_refused(place.window);
  check(peer);
  if (!windows.is_asked(place.window)) ask(peer, place.window);
  return nullptr;
}

void ShmAccess::ask(int peer, std::uint64_t number) {
  Peer& owner = at(peer);
  if (!owner.bell || !board_) {
    throw errors().make(ErrorCode::internal, peer, "map() before the control block is there", {});
  }
  const Note note{.kind = Note::Kind::ask, .window = number};
  // Not taken now: the next call tries again. A peer that is gone shows when reading.
  if (!send(owner.socket, bytes_of(note), {})) return;
  owner.windows.ask(number);
  counter(peer).asks.fetch_add(1, std::memory_order_release);
  owner.bell->ring();
  count_unsettled();
}

void ShmAccess::offer(const Exposed& place, std::span<const std::int32_t> peers) {
  const std::vector<bool>& to = sent(place.window);
  for (const std::int32_t peer : peers) {
    if (!to[static_cast<std::size_t>(peer)]) send_window(peer, place.window);
  }
}

std::vector<bool>& ShmAccess::sent(std::uint64_t number) {
  const auto found = std::ranges::find(sent_, number, &Sent::window);
  if (found != sent_.end()) return found->to;
  sent_.push_back({number, std::vector<bool>(peers_.size())});
  return sent_.back().to;
}

std::uint64_t ShmAccess::windows_freed() {
  const std::uint64_t freed = windows_->freed();
  if (std::exchange(freed_, freed) == freed) return freed;
  std::erase_if(sent_, [&](const Sent& sent) {
    if (windows_->has(sent.window)) return false;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      if (sent.to[peer]) peers_[peer].to_free.push_back(sent.window);
    }
    return true;
  });
  for (Peer& peer : peers_) send_freed(peer);
  return freed;
}

void ShmAccess::forget(int peer) {
  bool moved = false;
  while (read_note(peer)) moved = true;
  if (moved) count_unsettled();
}

}  // namespace rondo::shm
