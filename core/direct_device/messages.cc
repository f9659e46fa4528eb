#include "core/direct_device/messages.h"

#include <algorithm>

#include "core/stream/order.h"
#include "core/stream/own_messages.h"

namespace rondo::direct_device {

Messages::Messages(const StagingHeap& heap, std::vector<stream::Request> requests,
                   MessageState& state, std::uint64_t number)
    : heap_(heap), requests_(std::move(requests)), state_(state), signals_(heap), number_(number) {
  for (const stream::Request& request : requests_) {
    if (request.peer != heap_.rank()) cut(request);
  }
  choose_streams();
  for (Kind& kind : kinds_) {
    std::vector<std::size_t>& next = kind.sends ? state_.sent : state_.received;
    place(kind, next[static_cast<std::size_t>(kind.peer)]);
    std::vector<std::uint32_t>& pieces = kind.sends ? state_.pieces_sent : state_.pieces_received;
    std::uint32_t& before = pieces[static_cast<std::size_t>(kind.peer)];
    kind.moved_before = before;
    if (number_ != 0) before += static_cast<std::uint32_t>(kind.pieces.size());
    rounds_ = std::max(rounds_, kind.pieces.size() + kind.lag);
  }
}

Messages::Kind& Messages::kind_of(const stream::Request& request) {
  const auto found = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.peer == request.peer && kind.sends == request.sends;
  });
  if (found != kinds_.end()) return *found;
  return kinds_.emplace_back(Kind{.peer = request.peer, .sends = request.sends});
}

/// Both sides cut alike: by what they agree on.
void Messages::cut(const stream::Request& request) {
  Kind& kind = kind_of(request);
  const std::size_t bytes = request.call.count * size_of(request.call.type);
  const cuda::DevicePointer address =
      cuda::address_of(request.sends ? request.input : request.output);
  for (std::size_t at = 0; at < bytes; at += heap_.slot_bytes())
    kind.pieces.push_back({.address = address + at,
                           .bytes = std::min(heap_.slot_bytes(), bytes - at),
                           .follows = at > 0});
}

/// From the slot `next` on. Long messages take slots 0 and 1, or 2 and 3, at once where they can: half as
/// many flags and copies, while the peer has the other two. The peer need not do so.
void Messages::place(Kind& kind, std::size_t& next) {
  const bool is_long = kind.pieces.size() > slots;
  if (!kind.sends) kind.lag = is_long ? slots / 2 : slots;
  std::vector<Piece> placed;
  for (Piece& piece : kind.pieces) {
    if (is_long && piece.follows && next % 2 == 1) {
      placed.back().bytes += piece.bytes;
      placed.back().slots = 2;
    } else {
      piece.slot = static_cast<int>(next);
      placed.push_back(piece);
    }
    next = (next + 1) % slots;
  }
  kind.pieces = std::move(placed);
}

void Messages::choose_streams() {
  streams_.push_back(stream());
  const auto receives = std::ranges::count(kinds_, false, &Kind::sends);
  std::size_t taken = 0;
  for (Kind& kind : kinds_) {
    kind.stream = stream();
    const bool apart = kind.pieces.size() > slots || (!kind.sends && receives > 1);
    if (kinds_.size() == 1 || !apart) continue;
    kind.stream = state_.sides.of(taken++);
    if (std::ranges::find(streams_, kind.stream) == streams_.end()) streams_.push_back(kind.stream);
  }
}

bool Messages::advance() {
  if (round_ == 0) begin();
  move(false);
  move(true);
  if (++round_ < rounds_) return true;
  gather();
  signals_.end(number_);
  signals_.put(stream());
  for (const stream::Request& request : requests_)
    stream::join(request.stream, stream(), state_.scratch.get());
  return false;
}

void Messages::begin() {
  for (const stream::Request& request : requests_)
    stream::join(stream(), request.stream, state_.scratch.get());
  signals_.begin(number_);
  signals_.put(stream());
  for (const cuda::Stream each : streams_) stream::join(each, stream(), state_.scratch.get());
  copy_own();
}

void Messages::gather() {
  for (const cuda::Stream each : streams_) stream::join(stream(), each, state_.scratch.get());
}

void Messages::copy_own() const {
  const auto& [sends, receives] = stream::OwnMessages(requests_, heap_.rank());
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Call& call = sends[i]->call;
    cuda::copy(cuda::address_of(receives[i]->output), cuda::address_of(sends[i]->input),
               call.count * size_of(call.type), stream());
  }
}

/// The next piece of all sends, or receives, that have one in this round.
void Messages::move(bool sends) {
  for (const cuda::Stream each : streams_) {
    std::vector<Kind*> kinds;
    for (Kind& kind : kinds_) {
      if (kind.stream == each && kind.sends == sends && round_ >= kind.lag &&
          kind.put < kind.pieces.size())
        kinds.push_back(&kind);
    }
    if (!kinds.empty()) move(kinds);
  }
}

/// The same for kinds of one direction and stream.
void Messages::move(const std::vector<Kind*>& kinds) {
  const bool sends = kinds.front()->sends;
  const cuda::Stream stream = kinds.front()->stream;
  const int rank = heap_.rank();
  for (const Kind* const kind : kinds) {
    const Piece& piece = kind->pieces[kind->put];
    for (int slot = piece.slot; slot < piece.slot + piece.slots; ++slot)
      signals_.take(sends ? Signal::taken : Signal::sent, slot, kind->peer);
  }
  signals_.put(stream);
  for (Kind* const kind : kinds) {
    const Piece& piece = kind->pieces[kind->put++];
    if (sends) {
      cuda::copy(heap_.slot(rank, kind->peer, piece.slot), piece.address, piece.bytes, stream);
    } else {
      cuda::copy(piece.address, heap_.slot(kind->peer, rank, piece.slot), piece.bytes, stream);
    }
    for (int slot = piece.slot; slot < piece.slot + piece.slots; ++slot)
      signals_.tell(sends ? Signal::sent : Signal::taken, slot, kind->peer);
    if (number_ == 0) continue;
    const FlagSegment& flags = heap_.flags();
    if (kind->put == kind->pieces.size()) {
      signals_.write(flags.passed(rank, kind->peer, sends), static_cast<std::uint32_t>(number_));
    } else {
      signals_.write(flags.moved(rank, kind->peer, sends),
                     kind->moved_before + static_cast<std::uint32_t>(kind->put));
    }
  }
  signals_.put(stream);
}

std::size_t Messages::entries_left() const {
  constexpr std::size_t each_piece = 3;   // two batches of operations on flags, a copy
  constexpr std::size_t each_stream = 4;  // it waits for stream(), which waits for it
  std::size_t entries = 2 + each_stream * (streams_.size() - 1);
  for (const Kind& kind : kinds_) {
    std::uint32_t& moved = heap_.flags().moved(heap_.rank(), kind.peer, kind.sends);
    entries += each_piece * (kind.put - counted_since(moved, kind.moved_before));
  }
  return entries;
}

}  // namespace rondo::direct_device
