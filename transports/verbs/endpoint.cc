#include "transports/verbs/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>

namespace rondo::verbs {
namespace {

// Tried in this order: a device refuses what it cannot do. More than 256 bytes would only make the
// work requests of some devices longer.
constexpr std::array<std::uint32_t, 5> inline_sizes{256, 128, 64, 32, 0};
// Credits make sure that there is always a receive request. If one is missing nevertheless, an
// error after some tries of 0.64 ms (code 12) is better than silence.
constexpr std::uint8_t not_ready_timer = 12;
constexpr std::uint8_t not_ready_retries = 6;
constexpr std::uint8_t hops = 64;

ibv_mtu mtu_code(std::uint32_t bytes) {
  for (const ibv_mtu code : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512}) {
    if (bytes >= std::uint32_t{128} << static_cast<unsigned>(code)) return code;
  }
  return IBV_MTU_256;
}

ibv_sge part_of(const Piece& piece) {
  return {.addr = reinterpret_cast<std::uintptr_t>(piece.begin),
          .length = static_cast<std::uint32_t>(piece.bytes),
          .lkey = piece.key};
}

std::uint32_t random_sequence() {
  std::random_device random;
  return random() & 0xffffff;
}

}  // namespace

Endpoint::Endpoint(OpenPort& port, const Settings& settings, int peer, Capacity capacity,
                   Credit& credit)
    : port_(port),
      credit_(credit),
      settings_(settings),
      link_(port.link(peer)),
      number_(port.admit(*this)) {
  make_pair(capacity);
  address_ = {.number = pair_->qp_num,
              .sequence = random_sequence(),
              .mtu = static_cast<std::uint32_t>(port.description().mtu),
              .lid = port.description().lid,
              .kind = static_cast<std::uint8_t>(port.gid().kind),
              .gid = port.gid().bytes};
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = settings_.pkey_index;
  attributes.port_num = static_cast<std::uint8_t>(port.description().port);
  // For lines, and for the empty writes that ask_acknowledgement() sends.
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         "moving a queue pair to INIT");
}

Endpoint::~Endpoint() { hold_place(false); }

void Endpoint::hold_place(bool holds) {
  if (holds == holds_place_) return;
  holds_place_ = holds;
  holds ? port_.add_reader(*this) : port_.remove_reader(*this);
}

void Endpoint::make_pair(Capacity capacity) {
  ibv_cq* const queue = port_.queue(capacity.sends + capacity.receives);
  int error = 0;
  for (const std::uint32_t inline_bytes : inline_sizes) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue;
    attributes.cap.max_send_wr = capacity.sends;
    attributes.cap.max_recv_wr = capacity.receives;
    attributes.cap.max_send_sge = 2;  // a header and a payload elsewhere
    attributes.cap.max_recv_sge = 1;
    attributes.cap.max_inline_data = inline_bytes;
    attributes.qp_type = IBV_QPT_RC;
    pair_.reset(library().create_qp(port_.domain(), &attributes));
    error = errno;
    if (pair_) {
      inline_bytes_ = attributes.cap.max_inline_data;
      sends_.set_capacity(capacity.sends);
      receives_.capacity = capacity.receives;
      return;
    }
    if (error != EINVAL) break;
  }
  throw call_error("creating a queue pair", error, link_);
}

void Endpoint::modify(ibv_qp_attr& attributes, int mask, std::string_view action) {
  const int error = library().modify_qp(pair_.get(), &attributes, mask);
  if (error != 0) throw call_error(action, error, link_);
}

void Endpoint::offer_lines(const std::byte* lines, std::uint32_t key) {
  address_.lines = reinterpret_cast<std::uintptr_t>(lines);
  address_.key = key;
}

void Endpoint::connect(const EndpointAddress& peer) {
  peer_ = peer;
  link_.peer_gid = to_text(gid_of(peer));
  to_ready_to_receive();
  to_ready_to_send();
}

void Endpoint::to_ready_to_receive() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = mtu_code(std::min(peer_.mtu, address_.mtu));
  attributes.dest_qp_num = peer_.number;
  attributes.rq_psn = peer_.sequence;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = not_ready_timer;
  ibv_ah_attr& way = attributes.ah_attr;
  way.port_num = static_cast<std::uint8_t>(port_.description().port);
  way.sl = settings_.service_level;
  way.dlid = peer_.lid;
  const Gid& here = port_.gid();
  const Gid there = gid_of(peer_);
  if (here.kind != GidKind::infiniband || subnet_prefix(here) != subnet_prefix(there)) {
    way.is_global = 1;
    std::memcpy(way.grh.dgid.raw, peer_.gid.data(), peer_.gid.size());
    way.grh.sgid_index = static_cast<std::uint8_t>(here.index);
    way.grh.hop_limit = hops;
    way.grh.traffic_class = settings_.traffic_class;
  }
  modify(attributes,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         "moving a queue pair to RTR");
}

void Endpoint::to_ready_to_send() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = address_.sequence;
  attributes.timeout = settings_.timeout;
  attributes.retry_cnt = settings_.retry_count;
  attributes.rnr_retry = not_ready_retries;
  attributes.max_rd_atomic = 1;
  modify(attributes,
         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "moving a queue pair to RTS");
}

void Endpoint::post(ibv_send_wr& request, bool signalled) {
  ++port_.tally().sends;
  request.wr_id = request_id(number_, false, sends_.post());
  if (sends_.signals(signalled)) {
    request.send_flags |= IBV_SEND_SIGNALED;
    ++port_.tally().signalled;
  }
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(pair_.get(), &request, &refused);
  if (error != 0) throw call_error("posting a send", error, link_);
}

void Endpoint::post_with_credit(ibv_send_wr& request, ibv_wr_opcode opcode) {
  request.opcode = opcode;
  request.imm_data = htonl(credit_.released);
  credit_.told = credit_.released;
  post(request, false);
}

void Endpoint::post_parts(std::span<ibv_sge> parts, unsigned flags) {
  ibv_send_wr request{};
  request.sg_list = parts.data();
  request.num_sge = static_cast<int>(parts.size());
  request.send_flags = flags;
  post_with_credit(request, IBV_WR_SEND_WITH_IMM);
}

void Endpoint::send(const Piece& frame) {
  ibv_sge part = part_of(frame);
  post_parts({&part, 1}, frame.bytes <= inline_bytes_ ? IBV_SEND_INLINE : 0);
}

void Endpoint::write(const Piece& frame, std::size_t offset) {
  ibv_sge part = part_of(frame);
  ibv_send_wr request{};
  request.sg_list = &part;
  request.num_sge = 1;
  request.send_flags = frame.bytes <= inline_bytes_ ? IBV_SEND_INLINE : 0;
  request.wr.rdma.remote_addr = peer_.lines + offset;
  request.wr.rdma.rkey = peer_.key;
  post_with_credit(request, IBV_WR_RDMA_WRITE_WITH_IMM);
}

void Endpoint::send(const Piece& header, const Piece& payload) {
  std::array<ibv_sge, 2> parts{part_of(header), part_of(payload)};
  post_parts(parts, 0);
  sends_.note_use(port_.regions().uses());
  hold_place(true);
  ++port_.tally().from_place;
}

void Endpoint::send_credit() {
  ibv_send_wr request{};
  post_with_credit(request, IBV_WR_SEND_WITH_IMM);
}

void Endpoint::ask_acknowledgement() {
  if (acknowledged() || sends_.is_signalled() || !has_room()) return;
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  post(request, true);
  ++port_.tally().questions;
}

void Endpoint::receive_frame(const Piece& piece) {
  ibv_sge part = part_of(piece);
  post_receive(&part);
}

void Endpoint::receive_credit() { post_receive(nullptr); }

void Endpoint::post_receive(ibv_sge* piece) {
  ibv_recv_wr request{};
  request.wr_id = request_id(number_, true, 0);
  request.sg_list = piece;
  request.num_sge = piece == nullptr ? 0 : 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(pair_.get(), &request, &refused);
  if (error != 0) throw call_error("posting a receive", error, link_);
  ++receives_.posted;
}

void Endpoint::completed(const ibv_wc& completion, bool receive, std::uint32_t count) noexcept {
  try {
    note(completion, receive, count);
  } catch (const Error& error) {
    fail(error);
  }
}

void Endpoint::note(const ibv_wc& completion, bool receive, std::uint32_t count) {
  if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
    hold_place(false);  // the queue pair is in the error state
    const bool flushed = is_flush(completion.status);
    if (!failure_.is_open_to(flushed)) return;
    const char* const action = receive ? "receiving" : "sending";
    // A port that goes down makes Soft-RoCE refuse (Linux 6.1) or flush (6.12) before it says so.
    const PortCondition port = flushed || completion.status == IBV_WC_LOC_QP_OP_ERR
                                   ? port_.condition_after_refusal()
                                   : port_.condition();
    const bool well = port == PortCondition::well;
    failure_.note(well ? completion_error(completion.status, completion.vendor_err, action, link_)
                       : port_error(port, action, link_),
                  flushed && well);
  } else if (!receive) {
    sends_.complete(count);
    if (!sends_.reads_places()) hold_place(false);
  } else {
    --receives_.posted;
    credit_.grant(ntohl(completion.imm_data));
    if (completion.byte_len == 0) return receive_credit();
    ++receives_.frames;
  }
}

}  // namespace rondo::verbs
