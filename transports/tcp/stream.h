// The data path: frames out, frames in. A writer and a reader share one connection, so that
// acknowledgements travel with data. One that travels alone makes short messages slower.
//
// All reads and writes are non-blocking system calls on the caller's thread. A frame is a header
// and its payload; a frame from a slot leaves in one send(), one from the caller's memory in one
// sendmsg() of header and payload.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/fork.h"
#include "core/transport/transport.h"
#include "rondo/error.h"
#include "transports/tcp/frame.h"

namespace rondo::tcp {

/// A socket that a writer and a reader use, each one way. Closed when both have let go.
using Connection = std::shared_ptr<const UnforkedFd>;

/// The error of a connection whose path is broken, by the system's reason. The peer may well live.
Error cut_off(const Ends& ends, int error);

/// Frames into a socket, and memory for those that the kernel is slow to take. Every call throws
/// Error{peer_lost} once the socket is broken.
class StreamWriter {
 public:
  /// `absorbs`: send_from() copies what the kernel does not take, so that the peer need not read
  /// before this rank does. For use over a wire, which is slower than the copy.
  StreamWriter(const FrameSizes& sizes, Ends ends, bool absorbs)
      : sizes_(sizes), ends_(ends), absorbs_(absorbs), unsent_(sizes.slot, ends) {}

  void connect(Connection connection) { connection_ = std::move(connection); }
  /// Frames that have not begun are sent on this connection instead.
  void move_to(Connection connection);
  bool connected() const { return connection_ != nullptr; }
  const Connection& connection() const { return connection_; }
  int descriptor() const { return connection_->get(); }

  /// The next frame's payload memory, or empty while there is none.
  std::span<std::byte> acquire();
  void commit(std::size_t bytes, FrameTag tag, std::uint32_t number);
  /// As SendChannel::send_from(). finished() tells whether the frame it began is complete.
  std::size_t send_from(std::span<const std::byte> bytes, FrameTag tag, std::uint32_t number);
  bool finished() const { return direct_left_ == 0; }
  /// Writes what the kernel takes. True when bytes moved.
  bool flush();
  bool pending() const { return !unsent_.empty(); }

 private:
  void move_between_frames();
  std::size_t direct(std::span<const std::byte> bytes);
  bool absorb(std::span<const std::byte> bytes);

  Connection connection_{};
  Connection next_{};  ///< null: none to move to
  FrameSizes sizes_;
  Ends ends_;
  bool absorbs_;
  UnsentFrames unsent_;
  FrameHeader direct_header_{};
  std::size_t direct_header_left_ = 0;
  std::size_t direct_left_ = 0;  ///< payload bytes of the send_from() frame still to come
};

/// Finds the connection on which frames come. There may be two, one made by each end. The writer
/// begins with one and may go on with the other; frame numbers give the order.
class IncomingConnection {
 public:
  /// Adds a connection on which frames may come. `own`: this end made it, and earlier frames may
  /// still come on another one. `last`: once frames come on it, no more come on others. If neither
  /// holds, this end's own connection is still to come.
  void add(Connection connection, bool own, bool last);
  /// This end's own connection will not come.
  void add_no_more();
  bool connected() const { return connected_; }
  /// The connection on which all further frames come is known.
  bool settled() const { return settled_; }
  void add_descriptors(std::vector<pollfd>& descriptors) const;

  /// That of the current frame, once find() was true.
  int descriptor() const { return connection_->get(); }
  /// Finds out on which connection frame `number` comes. False: it has not begun to. Throws
  /// Error{peer_lost} once it cannot come.
  bool find(std::uint32_t number, std::size_t header_bytes, const Ends& ends);

 private:
  /// How long the peer's connection may still arrive after this end's has ended. Between two looks
  /// at most longest_look counts, since a process that did not run has not waited.
  static constexpr std::chrono::seconds longest_crossing{1};
  static constexpr std::chrono::milliseconds longest_look{5};
  struct Candidate {
    Connection connection;
    bool own;
    bool last;
  };
  enum class Look : std::uint8_t { nothing, next_frame, ended };

  Look look(const Candidate& candidate, std::uint32_t number, std::size_t header_bytes);
  bool may_still_come();

  Connection connection_{};              ///< of the current frame
  std::vector<Candidate> candidates_{};  ///< of the next one, until settled
  bool connected_ = false;               ///< there was a candidate
  bool more_to_come_ = false;            ///< candidates
  bool own_came_ = false;
  bool peers_came_ = false;
  std::optional<std::chrono::steady_clock::time_point> looked_{};  ///< since the last one has ended
  std::chrono::nanoseconds waited_{0};                             ///< in these looks
  int error_ = 0;                                                  ///< that ended it; 0: in order
  bool settled_ = false;
};

/// Reads frames. A frame that is as long as the one before costs one system call. What the kernel hands over
/// beyond it waits in the reader's memory, so that the frame after a small one often costs none.
class StreamReader {
 public:
  StreamReader(const FrameSizes& sizes, Ends ends) : sizes_(sizes), ends_(ends) {}

  IncomingConnection& incoming() { return incoming_; }
  const IncomingConnection& incoming() const { return incoming_; }

  /// The current frame's header once it has arrived. Throws Error: peer_lost at the stream's end,
  /// internal when the bytes are no frame `number`.
  const FrameHeader* header(std::uint32_t number);
  /// Reads the next part of the current frame's payload into `destination` (no longer than what is
  /// left of it); 0: nothing there yet.
  std::size_t read(std::span<std::byte> destination);
  /// What read() has not handed out of the current frame, once all of it has arrived, else null.
  /// Valid until next(). If read() has handed out nothing of the frame, it is aligned as
  /// ReceiveChannel::peek() says.
  const std::byte* payload();
  /// Done with the current frame: the next header is looked for.
  void next();

 private:
  /// Short frames are read along with their predecessors.
  static constexpr std::size_t short_bytes = 4096;
  /// Up to here copying out of the reader's memory costs less than a second system call.
  static constexpr std::size_t copied_bytes = std::size_t{16} << 10;
  static constexpr std::size_t payload_offset = 64;

  /// Where filling an empty memory begins: a header right before a payload that starts a cache line.
  std::size_t header_offset() const { return payload_offset - sizes_.header; }
  std::size_t receive(std::span<std::byte> destination, std::size_t ahead);
  std::size_t receive_more(std::size_t wanted);
  void make_room(std::size_t offset);
  std::size_t ahead() const;
  std::size_t checked(ssize_t received) const;

  IncomingConnection incoming_{};
  FrameSizes sizes_;
  Ends ends_;
  std::optional<FrameHeader> header_{};
  Buffer memory_{};        ///< for a slot and what is read ahead of it; made at first use
  std::size_t begin_ = 0;  ///< [begin_, end_) of it has arrived and not been handed out
  std::size_t end_ = 0;    ///< as large as begin_: empty
  std::size_t left_ = 0;   ///< payload bytes of the current frame not handed out by read()
  std::size_t along_ = short_bytes;  ///< payload bytes to ask for along with the next header
  bool handed_out_ = false;          ///< of the current frame, by read(), at least in part
};

}  // namespace rondo::tcp
