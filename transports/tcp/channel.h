// Channels over one or more TCP connections. Frame n travels on connection n mod sockets, and the
// receiver takes frames in that order. So several connections work at once and the order holds. The
// two channels of a pair of ranks in one lane share their connections.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/transport/transport.h"
#include "rondo/error.h"
#include "transports/tcp/stream.h"

namespace rondo::tcp {

class TcpSendChannel;

/// Channels whose last write the kernel did not take whole; progress() goes on with them.
using Backlog = std::vector<TcpSendChannel*>;

class TcpSendChannel final : public SendChannel {
 public:
  /// `backlog` outlives the channel and has room for every channel. `absorbs`: see StreamWriter.
  TcpSendChannel(const FrameSizes& sizes, int sockets, Ends ends, bool absorbs, Backlog& backlog);

  void connect(std::size_t index, Connection connection);
  /// Frames that have not begun on this connection are sent on another one.
  void move_to(std::size_t index, Connection connection);
  bool connected() const { return unconnected_ == 0; }
  bool connected(std::size_t index) const { return writers_[index].connected(); }
  /// The connections on which frames were sent.
  void add_connections(std::vector<Connection>& connections) const;
  void fail(const Error& error);
  /// Throws where the path of a connection is broken: this rank may wait for what the peer sends.
  void check_paths();
  bool failed() const { return failure_.has_value(); }
  /// Writes on. Keeps a failure for the next call of the user.
  bool flush() noexcept;
  void add_descriptors(std::vector<pollfd>& descriptors) const;

  std::span<std::byte> acquire() override;
  void commit(std::size_t bytes, FrameTag tag) override;
  bool sends_from_place() const override { return true; }
  std::size_t send_from(std::span<const std::byte> bytes, FrameTag tag) override;
  bool flushed() const override;

 private:
  StreamWriter& writer() { return writers_[number_ % writers_.size()]; }
  bool pending() const;
  void note_backlog();
  template <class Body>
  auto guarded(Body body) -> decltype(body());

  std::vector<StreamWriter> writers_;
  std::size_t unconnected_;
  std::size_t slot_bytes_;
  Ends ends_;
  Backlog& backlog_;
  bool in_backlog_ = false;
  std::uint64_t number_ = 0;  ///< of the next frame
  std::optional<Error> failure_{};
};

class TcpReceiveChannel final : public ReceiveChannel {
 public:
  TcpReceiveChannel(const FrameSizes& sizes, int sockets, Ends ends);

  /// A connection on which frames may come, see IncomingConnection::add().
  void connect(std::size_t index, Connection connection, bool own, bool last);
  bool connected() const { return unconnected_ == 0; }
  /// This end could not make a connection, for which some readers wait.
  void connect_no_more();
  /// The connections on which all further frames come are known.
  bool settled() const;
  /// The connection that the peer made; null where there is none in use.
  Connection of_peer(std::size_t index) const { return of_peer_[index].lock(); }
  void fail(const Error& error);
  bool failed() const { return failure_.has_value(); }
  /// Adds descriptors only while somebody waits for what this channel has not got.
  void add_descriptors(std::vector<pollfd>& descriptors) const;

  const Frame* peek() override;
  void release() override;
  bool receives_into_place() const override { return true; }
  std::optional<FrameHead> frame_head() override;
  std::size_t receive_into(std::span<std::byte> destination) override;

 private:
  StreamReader& reader() { return readers_[number_ % readers_.size()]; }
  const FrameHeader* header();
  void finish();
  template <class Body>
  auto guarded(Body body) -> decltype(body());

  std::vector<StreamReader> readers_;
  std::vector<std::weak_ptr<const UnforkedFd>> of_peer_;  ///< made by the peer, by index
  std::size_t unconnected_;
  Ends ends_;
  std::size_t handed_ = 0;    ///< payload bytes of the head frame taken by receive_into()
  std::uint64_t number_ = 0;  ///< of the head frame
  bool holding_ = false;      ///< frame_ is the head frame, whole
  bool waited_for_ = false;   ///< the last look found less than was wanted
  Frame frame_{};
  std::optional<Error> failure_{};
};

}  // namespace rondo::tcp
