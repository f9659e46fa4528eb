// ShmAccess over its sockets: how pairs of ranks connect, and what they say.
#include <poll.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "transports/shm/direct.h"

namespace rondo::shm {
namespace {

Verdict verdict_of(const Error& failure) {
  if (failure.code() == ErrorCode::out_of_memory) return Verdict::no_memory;
  return failure.code() == ErrorCode::internal ? Verdict::refused : Verdict::no_descriptors;
}

}  // namespace

bool ShmAccess::is_pressing() const {
  if ((wanted_ && !ready_ && !failure_) || unsettled_ > 0) return true;
  // Relaxed: only a hint to look. progress() loads it again.
  return board_ && counter(settings_.rank).asks.load(std::memory_order_relaxed) != asks_seen_;
}

bool ShmAccess::progress() {
  bool moved = false;
  if (wanted_ && !ready_ && addresses_ != nullptr) {
    for (int peer = 0; peer < settings_.rank; ++peer) moved |= begin(peer);
  }
  // Before the sockets are read: what is counted later is looked at later.
  if (board_) asks_seen_ = counter(settings_.rank).asks.load(std::memory_order_acquire);
  moved |= read_notes();
  windows_freed();
  for (Peer& peer : peers_) send_freed(peer);
  if (unsettled_ > 0) {
    for (int peer = 0; peer < settings_.ranks; ++peer) moved |= answer_asks(peer);
  }
  if (moved) {
    see_whether_ready();
    count_unsettled();
  }
  return moved;
}

void ShmAccess::count_unsettled() {
  unsettled_ = static_cast<std::size_t>(std::ranges::count_if(
      peers_, [](const Peer& peer) { return peer.windows.waits() || !peer.to_answer.empty(); }));
}

/// What goes wrong with one peer is that peer's failure.
void ShmAccess::try_for(int peer, auto&& action) {
  try {
    action();
  } catch (const Error& failure) {
    lose(at(peer), failure);
  } catch (const std::system_error& failure) {
    lose(at(peer), errors().cannot_connect(peer, failure));
  }
}

void ShmAccess::lose(Peer& peer, const Error& failure) {
  if (!peer.failure) peer.failure = failure;
  peer.socket = {};
  peer.to_answer.clear();
  peer.to_free.clear();
  peer.windows.give_up();
}

// ---- the higher rank connects

bool ShmAccess::begin(int peer) {
  Peer& lower = at(peer);
  if (lower.socket || lower.failure) return false;
  try_for(peer, [&] {
    const Hello hello{.from = settings_.rank,
                      .to = peer,
                      .lane = direct_lane,
                      .communicator = settings_.communicator,
                      .slot_bytes = board_bytes_};
    auto socket = greet((*addresses_)[static_cast<std::size_t>(peer)], hello, *settings_.doorbell);
    if (socket) lower.socket = UnforkedFd(std::move(*socket));
  });
  return lower.socket || lower.failure;
}

void ShmAccess::take_joined(int peer, const Note& note, Received& received) {
  Peer& lower = at(peer);
  std::span<UniqueFd> bell(received.descriptors);
  const bool whole = bell.size() > (peer == 0 ? 1U : 0U);
  if (note.verdict == Verdict::no_memory) {
    failure_ = errors().make(ErrorCode::out_of_memory, peer,
                             "the peer has no memory for the ranks' control block of " +
                                 std::to_string(board_bytes_) + " bytes",
                             "free some memory on that machine");
  } else if (note.verdict == Verdict::refused) {
    failure_ = other_board(peer, note.bytes);
  } else if (note.verdict == Verdict::no_descriptors || !whole || lower.bell) {
    throw errors().no_descriptors(peer);
  } else {
    if (peer == 0) {
      map_board(board_bytes_, bell.back());
      bell = bell.first(bell.size() - 1);
    }
    lower.bell = std::make_unique<PeerDoorbell>(bell);
  }
}

// ---- the lower rank answers

void ShmAccess::answer(const Hello& hello, Received received, UniqueFd socket) {
  Peer& higher = at(hello.from);
  if (hello.from <= settings_.rank || higher.socket || higher.failure) {
    return log(LogLevel::warn, settings_.rank, "dropped a second connection for direct access");
  }
  higher.socket = UnforkedFd(std::move(socket));
  try_for(hello.from, [&] {
    const Note note = join(hello, received);
    std::vector<int> passed;
    if (note.verdict == Verdict::accepted) passed = settings_.doorbell->descriptors();
    if (note.verdict == Verdict::accepted && board_memory_) passed.push_back(board_memory_.get());
    if (!send(higher.socket, bytes_of(note), passed)) throw errors().peer_died(hello.from);
    if (higher.bell) higher.bell->ring();
  });
  see_whether_ready();
}

/// The answer to a hello. A failure here is one of the control block, and both ends hear of it.
Note ShmAccess::join(const Hello& hello, Received& received) {
  Note note{.kind = Note::Kind::joined};
  try {
    if (settings_.rank == 0 && failure_) throw Error(*failure_);
    if (received.descriptors.empty()) throw errors().no_descriptors(hello.from);
    at(hello.from).bell = std::make_unique<PeerDoorbell>(received.descriptors);
    if (settings_.rank == 0) {
      if (board_bytes_ == 0) board_bytes_ = hello.slot_bytes;
      if (board_bytes_ != hello.slot_bytes) throw other_board(hello.from, hello.slot_bytes);
      make_board(board_bytes_);
    }
  } catch (const Error& failure) {
    if (!failure_) failure_ = failure;
    note.verdict = verdict_of(failure);
  }
  note.bytes = board_bytes_;
  return note;
}

// ---- both ends

bool ShmAccess::read_notes() {
  // poll() leaves out a peer without a socket, whose descriptor is -1.
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    sockets_[i] = {.fd = peers_[i].socket.get(), .events = POLLIN, .revents = 0};
  if (::poll(sockets_.data(), sockets_.size(), 0) <= 0) return false;
  bool moved = false;
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    while (sockets_[i].revents != 0 && read_note(static_cast<int>(i))) moved = true;
  }
  return moved;
}

bool ShmAccess::read_note(int peer) {
  Peer& other = at(peer);
  if (!other.socket) return false;
  bool moved = true;
  try_for(peer, [&] {
    Note note;
    Received received = receive(other.socket, bytes_of(note));
    moved = received.state != Received::State::nothing;
    if (received.state == Received::State::closed) throw errors().peer_died(peer);
    if (!moved) return;
    if (received.bytes != sizeof(Note) || note.magic != protocol_magic) {
      throw errors().other_protocol(peer);
    }
    take(peer, note, received);
  });
  return moved;
}

void ShmAccess::take(int peer, const Note& note, Received& received) {
  Peer& other = at(peer);
  switch (note.kind) {
    case Note::Kind::joined:
      return take_joined(peer, note, received);
    case Note::Kind::ask:
      other.to_answer.push_back(note.window);
      ++unsettled_;
      return;
    case Note::Kind::window:
      return other.windows.settle(
          note, received.descriptors.empty() ? UniqueFd() : std::move(received.descriptors[0]));
    case Note::Kind::freed:
      return other.windows.drop(note.window);
  }
  throw errors().make(ErrorCode::internal, peer, "an unknown message on a direct-access connection",
                      {});
}

bool ShmAccess::answer_asks(int peer) {
  Peer& other = at(peer);
  const auto taken = std::ranges::find_if_not(
      other.to_answer, [&](std::uint64_t number) { return send_window(peer, number); });
  const bool moved = taken != other.to_answer.begin();
  other.to_answer.erase(other.to_answer.begin(), taken);
  if (moved && other.bell) other.bell->ring();
  return moved;
}

/// False when the socket does not take it now.
bool ShmAccess::send_window(int peer, std::uint64_t number) {
  const UniqueFd& socket = at(peer).socket;
  Note note{.kind = Note::Kind::window, .verdict = Verdict::refused, .window = number};
  const auto handle = windows_->open(number);
  if (!handle) return send(socket, bytes_of(note), {});
  note.base = reinterpret_cast<std::uintptr_t>(handle->window.base);
  note.bytes = handle->window.bytes;
  note.verdict = handle->descriptor ? Verdict::accepted : Verdict::no_descriptors;
  if (!handle->descriptor) return send(socket, bytes_of(note), {});
  if (!send(socket, bytes_of(note), std::array{handle->descriptor.get()})) return false;
  sent(number)[static_cast<std::size_t>(peer)] = true;
  return true;
}

/// What the socket does not take stays for the next time.
void ShmAccess::send_freed(Peer& peer) {
  const auto kept = std::ranges::find_if_not(peer.to_free, [&](std::uint64_t number) {
    const Note note{.kind = Note::Kind::freed, .window = number};
    return send(peer.socket, bytes_of(note), {});
  });
  peer.to_free.erase(peer.to_free.begin(), kept);
}

}  // namespace rondo::shm
