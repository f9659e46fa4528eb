#include "core/transport/ring_channel.h"

#include <string>
#include <utility>

namespace rondo {
namespace {

Error peer_left(int rank, int peer) {
  return Error(ErrorCode::peer_lost, "the peer closed its end of the channel",
               {.rank = rank, .peer = peer, .remedy = "look at that rank's own output for why"});
}

}  // namespace

void RingSendChannel::open(SharedRing ring, std::shared_ptr<PeerDoorbell> doorbell) {
  ring_ = std::move(ring);
  doorbell_ = std::move(doorbell);
  writer_ = RingWriter(ring_.view());
  usable_ = !failure_;
}

RingSendChannel::~RingSendChannel() {
  if (!is_open()) return;
  writer_.leave();
  if (doorbell_) doorbell_->ring();
}

void RingSendChannel::fail(const Error& error) {
  if (!failure_) failure_ = error;
  usable_ = false;
}

std::span<std::byte> RingSendChannel::acquire() {
  if (!usable_) [[unlikely]]
    return refuse();
  if (writer_.reader_left()) [[unlikely]] {
    fail(peer_left(rank_, peer_));
    return refuse();
  }
  return writer_.acquire();
}

std::span<std::byte> RingSendChannel::refuse() {
  if (failure_) throw Error(*failure_);
  return {};
}

void RingSendChannel::commit(std::size_t bytes, FrameTag tag) {
  if (!usable_) [[unlikely]] {
    refuse();
    throw Error(ErrorCode::internal, "commit() without acquire()", {.rank = rank_, .peer = peer_});
  }
  writer_.commit(bytes, tag);
  if (doorbell_) doorbell_->ring();
}

void RingReceiveChannel::open(SharedRing ring, std::shared_ptr<PeerDoorbell> doorbell) {
  ring_ = std::move(ring);
  doorbell_ = std::move(doorbell);
  reader_ = RingReader(ring_.view());
  open_ = true;
}

RingReceiveChannel::~RingReceiveChannel() {
  if (!is_open()) return;
  reader_.leave();
  if (doorbell_) doorbell_->ring();
}

void RingReceiveChannel::fail(const Error& error) {
  if (!failure_) failure_ = error;
}

const Frame* RingReceiveChannel::look() {
  if (!open_ || !reader_.peek(frame_)) return nullptr;
  if (frame_.payload.size() > ring_.shape.slot_bytes) [[unlikely]] {
    throw Error(ErrorCode::internal, "a channel's memory was overwritten",
                {.rank = rank_, .peer = peer_, .remedy = "look for stray writes in that process"});
  }
  holding_ = true;
  return &frame_;
}

const Frame* RingReceiveChannel::peek() {
  if (holding_) return &frame_;
  if (const Frame* frame = look()) return frame;
  if (failure_) [[unlikely]]
    throw Error(*failure_);
  if (open_ && reader_.writer_left()) [[unlikely]] {
    // The flag was set after the last frame: with it seen, a second look sees every frame.
    if (const Frame* frame = look()) return frame;
    fail(peer_left(rank_, peer_));
    throw Error(*failure_);
  }
  return nullptr;
}

void RingReceiveChannel::release() {
  if (!holding_) {
    throw Error(ErrorCode::internal, "release() without a frame", {.rank = rank_, .peer = peer_});
  }
  holding_ = false;
  reader_.release();
  if (doorbell_) doorbell_->ring();
}

}  // namespace rondo
