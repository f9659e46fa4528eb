// Direct access between processes: a control block (the board) that rank 0 makes, windows of peers
// that are mapped on demand. handshake.h has the messages on the sockets.
//
// Each pair of ranks has one connection, made when board() is first called. A rank reads it
// - while it expects something,
// - when a peer has counted in the control block that it asked for a window (AskCounter),
// - and now and then otherwise, as the transport does with its channels.
// So a call that finds all windows mapped makes no system call.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/fork.h"
#include "core/memory/windows.h"
#include "core/transport/direct_access.h"
#include "core/transport/doorbell.h"
#include "core/transport/transport.h"
#include "core/transport/unix_socket.h"
#include "rondo/error.h"
#include "transports/shm/handshake.h"
#include "transports/shm/peer_windows.h"

namespace rondo::shm {

using unix_socket::accept_from;
using unix_socket::receive;
using unix_socket::Received;
using unix_socket::same_user;
using unix_socket::send;

/// One for each rank, in the first pages of the control block, which belong to the transport.
struct alignas(64) AskCounter {
  /// How often peers asked this rank for windows. A peer sends its message and then increments with
  /// release. A rank that loads the count with acquire finds the message in the socket.
  std::atomic<std::uint32_t> asks{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

class ShmAccess final : public DirectAccess {
 public:
  explicit ShmAccess(const TransportSettings& settings);

  // ---- for the transport

  /// The addresses of the ranks. Kept by the transport.
  void meet(const std::vector<std::string>& addresses);
  /// Takes a peer's hello on a connection for direct access. The caller has checked the rest of it.
  void answer(const Hello& hello, Received received, UniqueFd socket);
  /// Whether progress() should be called at once rather than now and then.
  bool is_pressing() const;
  /// Never throws Error: a failure is kept for the calls that it concerns.
  bool progress();

  // ---- DirectAccess

  std::byte* board(std::size_t bytes) override;
  void check(int peer) override;
  Exposed expose(const void* memory, std::size_t bytes) const override;
  void offer(const Exposed& place, std::span<const std::int32_t> peers) override;
  std::uint64_t windows_freed() override;
  std::byte* map(int peer, const Exposed& place, std::size_t bytes) override;
  void forget(int peer) override;
  void wake(int peer) override;

 private:
  struct Peer {
    Peer(int rank, int peer) : windows(rank, peer) {}
    UnforkedFd socket{};
    std::unique_ptr<PeerDoorbell> bell{};  ///< there once the peer has joined
    PeerWindows windows;
    std::vector<std::uint64_t> to_answer{};  ///< windows that the peer asked for
    std::vector<std::uint64_t> to_free{};    ///< windows it was sent that have been freed since
    std::optional<Error> failure{};
  };

  /// One of this process's windows that some peers have been sent.
  struct Sent {
    std::uint64_t window = 0;
    std::vector<bool> to{};  ///< by rank
  };

  Errors errors() const { return {settings_.rank}; }
  Error other_board(int peer, std::size_t bytes) const;
  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }

  std::size_t header_bytes() const;
  AskCounter& counter(int rank) const;
  void make_board(std::size_t bytes);
  void map_board(std::size_t bytes, const UniqueFd& memory);
  void see_whether_ready();

  Note join(const Hello& hello, Received& received);
  void try_for(int peer, auto&& action);
  void lose(Peer& peer, const Error& failure);
  bool begin(int peer);
  bool read_notes();
  bool read_note(int peer);
  void take(int peer, const Note& note, Received& received);
  void take_joined(int peer, const Note& note, Received& received);
  bool answer_asks(int peer);
  bool send_window(int peer, std::uint64_t number);
  void send_freed(Peer& peer);
  std::vector<bool>& sent(std::uint64_t number);
  void ask(int peer, std::uint64_t number);
  void count_unsettled();

  TransportSettings settings_;
  std::shared_ptr<Windows> windows_;
  const std::vector<std::string>* addresses_ = nullptr;
  std::vector<Peer> peers_{};
  std::vector<pollfd> sockets_{};  ///< of peers_, kept so that a look allocates nothing

  std::size_t board_bytes_ = 0;  ///< as asked for, by this rank or the first peer; 0: not yet
  bool wanted_ = false;          ///< this rank has called board()
  bool ready_ = false;           ///< mapped, and every peer can be rung
  UniqueFd board_memory_{};      ///< rank 0's, until all peers have it
  Mapping board_{};
  std::optional<Error> failure_{};  ///< of the control block

  std::vector<Sent> sent_{};
  std::uint64_t freed_ = 0;      ///< windows freed, when sent_ was last gone through
  std::uint32_t asks_seen_ = 0;  ///< of this rank's counter
  std::size_t unsettled_ = 0;    ///< peers with which something is asked or to be answered
};

}  // namespace rondo::shm
