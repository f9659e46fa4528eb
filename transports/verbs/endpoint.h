// Endpoint: one end of a reliable connection (RC), a queue pair, with its book-keeping.
//
// Frames and credits travel with an immediate number, the credit. A frame is sent into the receive
// request that its receiver posted for it, or, where it is short, written to a line that the
// receiver looks at; that uses up such a request as well, and so tells of itself by a completion
// like any other, only later. A send without a frame is empty. Sends are
// completed silently but for every 16th and for those that somebody waits for, so that a queue of
// sends costs few completions.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transports/verbs/credit.h"
#include "transports/verbs/endpoint_address.h"
#include "transports/verbs/rail.h"

namespace rondo::verbs {

/// Registered memory as a work request names it.
struct Piece {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint32_t key = 0;  ///< ibv_mr::lkey on the endpoint's rail
};

/// Calls that post throw Error where the device refuses; a completion that failed is kept for
/// failure(). One thread at a time, the one that polls the rail.
class Endpoint final : public Worker {
 public:
  /// Every so many sends one is signalled, so that the device's room for them comes back.
  static constexpr std::uint32_t silent_sends = 16;

  /// Most sends and receives under way at a time.
  struct Capacity {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
  };
  /// `rail` and `credit` outlive the endpoint.
  Endpoint(Rail& rail, const Settings& settings, int peer, Capacity capacity, Credit& credit);
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Rail& rail() { return rail_; }
  const Rail& rail() const { return rail_; }
  const EndpointAddress& address() const { return address_; }
  /// What work requests name the channel's slots by.
  void know_slots(std::uint32_t key) { slots_key_ = key; }
  std::uint32_t slots_key() const { return slots_key_; }
  /// A receiving end's: where the peer may write short frames. Before address() is told.
  void offer_lines(const std::byte* lines, std::uint32_t key);
  /// Receives may be posted before, sends after this.
  void connect(const EndpointAddress& peer);
  bool is(const ibv_qp* pair) const { return pair == pair_.get(); }

  /// Room for one more send.
  bool has_room() const { return posted_ - done_ < sends_; }
  /// A frame, and the credit that there is to tell.
  void send(const Piece& frame);
  /// The same by a write, `offset` bytes into the peer's lines.
  void write(const Piece& frame, std::size_t offset);
  /// The same as send() of a frame whose payload lies elsewhere, in memory that RegionCache has
  /// just told the key of. It stays known to the device while holds_place().
  void send(const Piece& header, const Piece& payload);
  /// The device may still read a payload of send(header, payload). A queue pair that has failed
  /// reads nothing any more.
  bool holds_place() const { return holds_place_; }
  void send_credit();
  /// Everything sent has been acknowledged by the peer's device.
  bool acknowledged() const { return posted_ == done_; }
  /// Sees to it that acknowledged() becomes true without another send.
  void ask_acknowledgement();

  /// The device has told of enough receives that there is room for one more.
  bool may_receive() const { return awaited_ < receives_; }
  void receive_frame(const Piece& piece);
  void receive_credit();

  /// Frames that have arrived, since the beginning, as far as the device has told.
  std::uint64_t frames() const { return frames_; }

  void completed(const ibv_wc& completion, bool receive, std::uint32_t count) noexcept override;
  std::uint64_t oldest_read() const override;
  void fail(const Error& error);
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void make_pair(Capacity capacity);
  void modify(ibv_qp_attr& attributes, int mask, std::string_view action);
  void to_ready_to_receive(const EndpointAddress& peer);
  void to_ready_to_send();
  void post(ibv_send_wr& request, bool signalled);
  void post_with_credit(ibv_send_wr& request, ibv_wr_opcode opcode);
  void post_parts(std::span<ibv_sge> parts, unsigned flags);
  /// In uses_.
  std::size_t place_of(std::uint64_t send) const { return send & (uses_.size() - 1); }
  void post_receive(ibv_sge* piece);
  void hold_place(bool holds);
  void note(const ibv_wc& completion, bool receive, std::uint32_t count);

  Rail& rail_;
  Credit& credit_;
  Settings settings_;
  Link link_;
  std::uint32_t number_;  ///< on its rail
  QueuePair pair_{};
  EndpointAddress address_{};
  std::uint32_t inline_bytes_ = 0;
  std::uint64_t sends_ = 0;
  std::uint32_t receives_ = 0;
  std::uint32_t slots_key_ = 0;
  std::uint32_t awaited_ = 0;  ///< receives posted and not completed
  std::uint64_t peers_lines_ = 0;
  std::uint32_t peers_key_ = 0;
  std::uint64_t posted_ = 0;     ///< sends
  std::uint64_t signalled_ = 0;  ///< posted_ after the last signalled one
  std::uint64_t done_ = 0;       ///< sends known to be acknowledged
  std::uint64_t place_ = 0;      ///< posted_ after the last one from the user's memory
  bool holds_place_ = false;     ///< the rail knows
  /// Of the last sends, by their numbers modulo its length, a power of two: which use of the cached
  /// regions they read; 0: none.
  std::vector<std::uint64_t> uses_{};
  std::uint64_t frames_ = 0;
  bool only_flushed_ = false;  ///< failure_ only follows from one that is not known yet
  std::optional<Error> failure_{};
};

}  // namespace rondo::verbs
