// Endpoint: one end of a reliable connection (RC), a queue pair, with its book-keeping.
//
// - Every send carries an immediate number, the credit. A send without a frame is empty.
// - A frame is sent into the receive request that its receiver posted for it. A short frame is
//   written to a line that the receiver polls. That also uses up a receive request, and so gives a
//   completion like any other, only later.
// - Only every 16th send asks for a completion, and those that somebody waits for. So a queue of
//   sends costs few completions.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transports/verbs/credit.h"
#include "transports/verbs/endpoint_address.h"
#include "transports/verbs/open_port.h"
#include "transports/verbs/send_queue.h"

namespace rondo::verbs {

/// Registered memory as a work request names it.
struct Piece {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint32_t key = 0;  ///< ibv_mr::lkey on the endpoint's port
};

/// Why a queue pair is of no use any more. The first reason stays, unless it only follows from one
/// that was not known yet.
class PairFailure {
 public:
  /// `follows`: from a failure that is to be reported still.
  void note(const Error& error, bool follows) {
    if (!is_open_to(follows)) return;
    error_ = error;
    follows_ = follows;
  }
  bool is_open_to(bool follows) const { return !error_ || (follows_ && !follows); }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_{};
  bool follows_ = false;
};

/// Calls that post throw Error where the device refuses; a completion that failed is kept for
/// failure(). One thread at a time, the one that polls the port.
class Endpoint final : public Worker {
 public:
  /// Most sends and receives under way at a time.
  struct Capacity {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
  };
  /// `port` and `credit` outlive the endpoint.
  Endpoint(OpenPort& port, const Settings& settings, int peer, Capacity capacity, Credit& credit);
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  OpenPort& port() { return port_; }
  const OpenPort& port() const { return port_; }
  const EndpointAddress& address() const { return address_; }
  /// The key by which work requests name the channel's slots.
  void know_slots(std::uint32_t key) { slots_key_ = key; }
  std::uint32_t slots_key() const { return slots_key_; }
  /// For a receiving end: where the peer may write short frames. Call it before address() is told.
  void offer_lines(const std::byte* lines, std::uint32_t key);
  /// Receives may be posted before this call, sends only after it.
  void connect(const EndpointAddress& peer);
  bool is(const ibv_qp* pair) const { return pair == pair_.get(); }

  /// There is room for one more send.
  bool has_room() const { return sends_.has_room(); }
  /// Sends a frame, and the credit that there is to tell.
  void send(const Piece& frame);
  /// Does the same by a write, `offset` bytes into the peer's lines.
  void write(const Piece& frame, std::size_t offset);
  /// Sends a frame whose payload lies elsewhere, in memory whose key RegionCache has just given.
  /// The device must know that memory while holds_place().
  void send(const Piece& header, const Piece& payload);
  /// The device may still read a payload of send(header, payload). A queue pair that has failed
  /// reads nothing any more.
  bool holds_place() const { return holds_place_; }
  void send_credit();
  /// Everything sent has been acknowledged by the peer's device.
  bool acknowledged() const { return sends_.is_acknowledged(); }
  /// Makes acknowledged() become true without another send.
  void ask_acknowledgement();

  /// Enough receives have completed that there is room for one more.
  bool may_receive() const { return receives_.posted < receives_.capacity; }
  void receive_frame(const Piece& piece);
  void receive_credit();

  /// Frames that have arrived since the beginning, as far as the device has reported.
  std::uint64_t frames() const { return receives_.frames; }

  void completed(const ibv_wc& completion, bool receive, std::uint32_t count) noexcept override;
  std::uint64_t oldest_read() const override { return sends_.oldest_use(); }
  void fail(const Error& error) { failure_.note(error, false); }
  const std::optional<Error>& failure() const { return failure_.error(); }

 private:
  void make_pair(Capacity capacity);
  void modify(ibv_qp_attr& attributes, int mask, std::string_view action);
  void to_ready_to_receive();
  void to_ready_to_send();
  void post(ibv_send_wr& request, bool signalled);
  void post_with_credit(ibv_send_wr& request, ibv_wr_opcode opcode);
  void post_parts(std::span<ibv_sge> parts, unsigned flags);
  void post_receive(ibv_sge* piece);
  void hold_place(bool holds);
  void note(const ibv_wc& completion, bool receive, std::uint32_t count);

  OpenPort& port_;
  Credit& credit_;
  Settings settings_;
  Link link_;
  std::uint32_t number_;  ///< on its port
  QueuePair pair_{};
  EndpointAddress address_{};
  std::uint32_t inline_bytes_ = 0;
  SendQueue sends_{};
  struct Receives {
    std::uint32_t capacity = 0;
    std::uint32_t posted = 0;  ///< and not completed
    std::uint64_t frames = 0;  ///< that have arrived
  } receives_{};
  std::uint32_t slots_key_ = 0;
  EndpointAddress peer_{};    ///< once connected
  bool holds_place_ = false;  ///< the port knows
  PairFailure failure_{};
};

}  // namespace rondo::verbs
