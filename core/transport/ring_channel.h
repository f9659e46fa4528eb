// The two ends of a channel that is a slot ring. Transports whose peers map one memory (local, shm)
// share them, and differ only in how the peers come to that memory.
#pragma once

#include <memory>
#include <optional>

#include "core/transport/doorbell.h"
#include "core/transport/slot_ring.h"
#include "core/transport/transport.h"
#include "rondo/error.h"

namespace rondo {

/// A ring that both ends keep alive: the memory of a RingShape, zero-filled before first use.
struct SharedRing {
  std::shared_ptr<std::byte> memory{};
  RingShape shape{};
  RingView view() const { return {memory.get(), shape}; }
};

/// Starts unconnected; open() connects it.
class RingSendChannel final : public SendChannel {
 public:
  RingSendChannel(int rank, int peer) : rank_(rank), peer_(peer) {}
  ~RingSendChannel() override;

  /// `doorbell` is the reader's; null where it already left.
  void open(SharedRing ring, std::shared_ptr<PeerDoorbell> doorbell);
  /// Every later call throws `error`. The first failure stays.
  void fail(const Error& error);
  bool is_open() const { return ring_.memory != nullptr; }
  bool failed() const { return failure_.has_value(); }

  std::span<std::byte> acquire() override;
  void commit(std::size_t bytes, FrameTag tag) override;
  bool flushed() const override { return true; }

 private:
  std::span<std::byte> refuse();

  bool usable_ = false;  ///< open and not failed: the one test on the fast path
  RingWriter writer_{};
  int rank_;
  int peer_;
  SharedRing ring_{};
  std::shared_ptr<PeerDoorbell> doorbell_{};
  std::optional<Error> failure_{};
};

class RingReceiveChannel final : public ReceiveChannel {
 public:
  RingReceiveChannel(int rank, int peer) : rank_(rank), peer_(peer) {}
  ~RingReceiveChannel() override;

  /// `doorbell` is the writer's; null where it already left.
  void open(SharedRing ring, std::shared_ptr<PeerDoorbell> doorbell);
  /// peek() throws `error` once the frames that arrived are used up. The first failure stays.
  void fail(const Error& error);
  bool is_open() const { return ring_.memory != nullptr; }
  bool failed() const { return failure_.has_value(); }

  const Frame* peek() override;
  void release() override;

 private:
  const Frame* look();

  bool open_ = false;
  bool holding_ = false;  ///< frame_ is the head frame
  RingReader reader_{};
  Frame frame_{};
  int rank_;
  int peer_;
  SharedRing ring_{};
  std::shared_ptr<PeerDoorbell> doorbell_{};
  std::optional<Error> failure_{};
};

}  // namespace rondo
