// OneSided: the one-sided calls of a communicator that is made for them alone.
//
//   this rank                               the peer
//   put --- the block is mapped here ---->  copy into its memory
//       --- else a request, and bytes --->  its engine receives them into its block (serve())
//   signal -------------------------------> a counter of the peer's for this rank grows
//   get --- a request --------------------> its engine sends from its block; here: receive
//
// Requests and bytes are sends and receives of the engine, so every transport carries them, with
// fingerprints, checksums and diagnosis of hangs. A rank takes the requests of a peer in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/communicator/one_sided_request.h"
#include "core/communicator/state.h"
#include "core/communicator/window_blocks.h"
#include "core/execute/service.h"
#include "rondo/window.h"

namespace rondo::detail {

/// A place in a peer's block.
struct WindowPlace {
  std::uint32_t window = 0;
  int peer = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// All calls throw Error. One thread at a time makes them; the progress thread serves meanwhile.
class OneSided final : public Service {
 public:
  using Part = std::shared_ptr<Operation>;  ///< null: complete

  /// Collective. `state` is used for nothing else.
  static std::shared_ptr<OneSided> open(std::shared_ptr<CommunicatorState> state);
  /// For open() alone.
  explicit OneSided(std::shared_ptr<CommunicatorState> state);
  /// Ends the peers' calls with an error, unless close() was called.
  ~OneSided() override;

  const std::shared_ptr<CommunicatorState>& state() const { return state_; }

  /// Collective. The block must last until no peer uses it.
  /// `owner`: keeps the block for peers that are threads of this process; null: nobody does.
  std::uint32_t add_window(void* memory, std::size_t bytes,
                           const std::shared_ptr<void>& owner = {});
  /// Local. No rank uses it any more.
  void remove_window(std::uint32_t number);
  std::size_t bytes_of(std::uint32_t number, int rank) const {
    check_peer(rank);
    return blocks_.bytes_of(number, rank);
  }

  /// Throws Error{invalid_argument} where there is no such rank.
  void check_peer(int peer) const;
  /// The same where a put or get could not be made.
  void check(const WindowPlace& place, const void* own) const;
  /// Returns when the part of a put to `peer` is complete.
  void finish(const Part& part, int peer);
  /// `signal`: given after the bytes have arrived.
  Part put(const WindowPlace& to, const void* source, std::optional<int> signal);
  Part get(const WindowPlace& from, void* destination);
  void signal(int peer, int signal);
  void wait_signal(int peer, int signal, std::size_t count);
  std::size_t wait_any(std::span<const Signal> wanted);
  bool test_signal(int peer, int signal, std::size_t count);
  void flush(int peer);
  void flush();
  /// Collective: flush(), a barrier; and leave().
  void fence();
  void close();
  /// Waits for no peer. None may use this rank's blocks any more.
  void leave();

  Traffic traffic() const;

  /// Whether it was closed, or its communicator has gone.
  bool is_over();
  /// Throws Error{invalid_argument}.
  static void check_block(const void* memory, std::size_t bytes, int rank);

  bool has_peers() const override { return !ended_ && !closed_ && blocks_.needs_messages(); }
  bool serve() override;
  bool is_waiting() const override { return wait_ || gets_ > 0; }
  Awaited awaited() const override;
  bool progress_counts() override;
  void end(const std::exception_ptr& failure) override;

 private:
  using Request = OneSidedRequest;
  using Kind = Request::Kind;
  static constexpr std::size_t signals = Window::signals;

  /// Sent, but perhaps not gone yet.
  struct Outgoing {
    std::unique_ptr<std::byte[]> kept{};  ///< null: the bytes are the caller's, or of a block
    Part operation{};
  };
  /// The request of a peer that is being received, or its bytes.
  struct Arrival {
    std::vector<std::byte> frame{};  ///< as long as the longest so far
    std::size_t bytes = 0;           ///< of the frame
    Request request{};
    bool in_bytes = false;  ///< the request was taken, its bytes are on their way
    Part operation{};       ///< null: nothing arrives
  };
  struct PendingGet {
    std::byte* destination = nullptr;
    std::size_t bytes = 0;
    Part whole{};
  };
  /// How far what is awaited has come. Each is a sum over the awaited peers.
  struct Stamp {
    std::uint64_t signals = 0;   ///< that have come
    std::uint64_t received = 0;  ///< requests, and parts of the one under way
    std::uint64_t sent = 0;      ///< the same of what this rank sends, where it awaits an answer
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  /// For one of the signals; without any: for an answer of the peer.
  struct Wait {
    const char* call = "";
    int peer = 0;
    std::span<const Signal> wanted{};
  };
  struct Peer {
    Arrival arrival{};
    std::uint64_t requests = 0;  ///< taken so far
    std::uint64_t sent = 0;      ///< of `outgoing`, so far
    std::deque<Outgoing> outgoing{};
    std::deque<PendingGet> gets{};
    std::deque<bool> replies_to_gets{};  ///< for each reply that is due: whether it is to a get
    std::size_t flushes = 0;             ///< that wait for a reply
    bool has_left = false;               ///< its connection has ended
    bool unflushed = false;              ///< puts went by messages since the last flush
  };

  int rank() const { return state_->rank(); }
  /// The one that is waited for: where nothing else is, for the reply to a get.
  Wait awaited_wait() const;
  Stamp stamp() const;
  bool is_flushed(int peer) const { return at(peer).flushes == 0 && at(peer).gets.empty(); }
  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  const Peer& at(int peer) const { return peers_[static_cast<std::size_t>(peer)]; }
  /// A rank's counters: for each peer, those of its signals, and one that is 1 while it writes or reads
  /// a block of the rank directly. The rank's own such one is 1 when it takes its blocks away.
  static std::atomic_ref<std::uint64_t> counter(void* counters, int from, int signal);
  static std::size_t counters_bytes(int ranks) {
    return static_cast<std::size_t>(ranks) * counters_of_a_peer * sizeof(std::uint64_t);
  }
  void add_counters();
  /// Null: the peer is reached by messages.
  void* counters_of(int peer) const;
  static constexpr int at_work = Window::signals;
  static constexpr std::size_t counters_of_a_peer = Window::signals + 8;  // whole cache lines
  std::atomic_ref<std::uint64_t> own_counter(int peer, int signal) const {
    return counter(counters_.get(), peer, signal);
  }
  /// Lives while this rank works on a peer's block directly.
  class DirectWork;
  /// Returns when no peer works on this rank's blocks any more, after some seconds at the latest.
  void take_blocks_away();
  void check_signal(int signal) const;
  bool take(int peer, int signal, std::size_t count);
  WindowBlocks::Block checked_part(const WindowPlace& place, const void* own) const;
  bool waits_for(int peer) const;
  /// Throws where no call can be made.
  void require_usable();

  /// What follows is under the progress lock.
  void give_signal(int peer, int signal);
  /// Sends the request, and the bytes behind it. Not null: the bytes must stay as they are until
  /// then.
  Part post(int peer, Request request, const void* bytes);
  Part submit(int peer, bool sends, const void* from, void* to, std::size_t bytes);
  Part send(int peer, std::unique_ptr<std::byte[]> kept, const void* bytes, std::size_t count);
  void send_copy(int peer, const Request* request, const void* bytes, std::size_t count);
  void wait_for_room(int peer, const char* call);
  void ask_to_flush(int peer);
  void reap(Peer& peer);
  class Waiting;
  template <class Pending>
  void await(const Wait& wait, Pending is_pending);

  bool serve(int peer);
  std::optional<std::size_t> arrived_from(int peer);
  bool receive_request(int peer);
  void take_request(int peer);
  void take_bytes(int peer, std::byte* into);
  void take_reply(int peer);
  void complete(int peer);
  void end_get(Peer& peer);
  Error unexpected(int peer) const;
  Error closed_error() const;

  std::shared_ptr<CommunicatorState> state_;
  WindowBlocks blocks_;
  std::shared_ptr<void> counters_;  ///< see counter()
  std::vector<std::uint64_t> taken_;
  std::vector<Peer> peers_;
  std::optional<Wait> wait_{};  ///< of the caller's thread
  Stamp seen_{};                ///< by progress_counts()
  std::size_t gets_ = 0;        ///< that wait for a reply
  Traffic direct_{};            ///< what this rank has put without messages
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace rondo::detail
