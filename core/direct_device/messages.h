// Messages: puts the sends and receives of one group between devices into streams, round by round.
//
//   sender's stream                           receiver's stream
//   waits until the slot is free: `taken`     waits for the slot: `sent`
//   copies a slice into it                    copies the slice out of it
//   tells the receiver: `sent`                tells the sender: `taken`
//
// Each ordered pair of ranks has slots of its own. Its slices use them in turn, from message to
// message and call to call. All messages of a group with one peer in one direction are a "kind".
//
// Which stream a kind uses:
// - A send that fits its slots waits for earlier calls only. All such sends share a stream. If
//   there is only one receive, it follows them there.
// - Longer sends, and receives from several peers, have streams of their own, because only their
//   peer may hold them up. A kind that is alone needs none.
// - Several kinds share a stream where there are more of them than side_streams.h has, and a driver
//   may run several streams one after the other. Then the order of rounds keeps groups of equal
//   messages, such as all-to-alls, going: send 0, 1, 2, 3, receive 0, send 4,
//   receive 1, ... A send waits for nothing that comes later on any rank. Pieces of long messages
//   take two slots each. There it is send 0, 1, receive 0, send 2, receive 1, ...
//
// Like all signals, these are balanced when both sides have passed a message, so a captured group
// can be replayed. The slots of a captured group are fixed. So all ranks must capture the same
// calls, as with NCCL.
#pragma once

#include <vector>

#include "core/direct_device/signals.h"
#include "core/stream/request.h"
#include "core/stream/side_streams.h"

namespace rondo::direct_device {

/// What a communicator's groups of messages have in common.
struct MessageState {
  /// Streams of the current context. Throws CudaError.
  explicit MessageState(int ranks)
      : sent(static_cast<std::size_t>(ranks)),
        received(static_cast<std::size_t>(ranks)),
        pieces_sent(static_cast<std::size_t>(ranks)),
        pieces_received(static_cast<std::size_t>(ranks)),
        sides(ranks) {}
  std::vector<std::size_t> sent;                  ///< by peer: slot of the next slice
  std::vector<std::size_t> received;              ///< likewise
  std::vector<std::uint32_t> pieces_sent;         ///< by peer: so far, captured ones left out
  std::vector<std::uint32_t> pieces_received;     ///< likewise
  stream::SideStreams sides;                      ///< of kinds that need one
  cuda::OwnedEvent scratch = cuda::make_event();  ///< of joins
};

class Messages {
 public:
  /// `requests`: device memory, of at least one element. A send to the rank itself has its recv
  /// among them, and both are of one shape. `number`: as Running's.
  Messages(const StagingHeap& heap, std::vector<stream::Request> requests, MessageState& state,
           std::uint64_t number);

  /// Where the group begins and ends; others are joined there.
  cuda::Stream stream() const { return requests_.front().stream; }
  /// Puts the next round into streams; false when that was the last one. Throws CudaError.
  bool advance();
  /// stream() waits for all others of the group, as far as they got. Throws CudaError.
  void gather();
  /// About how many entries of a driver's queues were put there that streams have not done yet, as
  /// far as is known.
  std::size_t entries_left() const;

 private:
  /// One slice, or two that lie side by side.
  struct Piece {
    cuda::DevicePointer address = 0;
    std::size_t bytes = 0;
    bool follows = false;  ///< the piece before, in the same message
    int slot = 0;
    int slots = 1;
  };
  struct Kind {
    int peer = 0;
    bool sends = false;
    std::vector<Piece> pieces{};
    std::size_t lag = 0;             ///< rounds before the first piece
    std::uint32_t moved_before = 0;  ///< pieces, by earlier groups
    std::size_t put = 0;             ///< pieces that are in the stream
    cuda::Stream stream = nullptr;
  };

  Kind& kind_of(const stream::Request& request);
  void cut(const stream::Request& request);
  static void place(Kind& kind, std::size_t& next);
  void choose_streams();
  void begin();
  void copy_own() const;
  void move(bool sends);
  void move(const std::vector<Kind*>& kinds);

  const StagingHeap& heap_;
  const std::vector<stream::Request> requests_;
  MessageState& state_;
  Signals signals_;
  const std::uint64_t number_;
  std::vector<Kind> kinds_{};
  std::vector<cuda::Stream> streams_{};  ///< of kinds, each once; the first is stream()
  std::size_t round_ = 0;
  std::size_t rounds_ = 1;
};

}  // namespace rondo::direct_device
