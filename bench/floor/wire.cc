#include "bench/floor/wire.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/control/call.h"

namespace rondo::bench {
namespace {

constexpr std::chrono::seconds longest_silence{30};

std::unique_ptr<Transport> make(const std::string& name, const Member& member,
                                TransportSettings settings, Doorbell& doorbell) {
  const TransportKind* const kind = find_transport(name);
  if (kind == nullptr) throw std::invalid_argument("there is no transport '" + name + "'");
  settings.rank = member.rank();
  settings.ranks = member.size();
  settings.doorbell = &doorbell;
  return kind->make(settings);
}

}  // namespace

std::vector<std::string> tell_all(Member& member, SharedMemory& meeting, const std::string& mine) {
  if (mine.size() >= text_bytes) throw std::runtime_error("a transport's address is too long");
  auto* const texts = reinterpret_cast<char*>(meeting.data());
  const auto place = [&](int rank) { return texts + static_cast<std::size_t>(rank) * text_bytes; };
  std::memcpy(place(member.rank()), mine.c_str(), mine.size() + 1);
  member.meet();
  std::vector<std::string> all;
  for (int rank = 0; rank < member.size(); ++rank) all.emplace_back(place(rank));
  member.meet();  // before the next texts are written
  return all;
}

Wire::Wire(Member& member, SharedMemory& meeting, const std::string& transport,
           TransportSettings settings, std::size_t least_in_place)
    : rank_(member.rank()),
      least_in_place_(least_in_place),
      transport_(make(transport, member, std::move(settings), doorbell_)),
      peers_(static_cast<std::size_t>(member.size())),
      backoff_(member.shares_cores(), transport_->looks_are_system_calls()) {
  transport_->meet(tell_all(member, meeting, transport_->address()));
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_) continue;
    SendChannel& out = transport_->sender(peer, 0);
    ReceiveChannel& in = transport_->receiver(peer, 0);
    at(peer) = {&out, &in, out.sends_from_place(), in.receives_into_place()};
  }
}

void Wire::begin_call(std::size_t count) {
  fingerprint_ = fingerprint(Call{.sequence = ++sequence_,
                                  .count = count,
                                  .collective = Collective::all_reduce,
                                  .type = DataType::float32,
                                  .op = ReduceOperator::sum});
  backoff_.reset();
}

void Wire::check(std::uint64_t fingerprint, int peer) const {
  if (fingerprint == fingerprint_) return;
  throw std::runtime_error("a frame of another call came from rank " + std::to_string(peer));
}

const Frame* Wire::peek(int peer, std::size_t bytes) {
  const Frame* frame = at(peer).in->peek();
  if (frame == nullptr) return nullptr;
  check(frame->tag.fingerprint, peer);
  if (frame->payload.size() != bytes) throw std::runtime_error("a frame of another size came");
  return frame;
}

bool Wire::moved(std::size_t now, std::size_t bytes, std::size_t& done) {
  partly_ |= now > 0;
  done += now;
  if (done < bytes) return false;
  done = 0;
  return true;
}

bool Wire::put(int peer, const void* from, std::size_t bytes) {
  const std::span all(static_cast<const std::byte*>(from), bytes);
  Peer& to = at(peer);
  if (to.sends_places && bytes >= least_in_place_)
    return moved(to.out->send_from(all.subspan(to.sent), {fingerprint_}), bytes, to.sent);
  const std::span<std::byte> slot = to.out->acquire();
  if (slot.empty()) return false;
  std::memcpy(slot.data(), from, bytes);
  to.out->commit(bytes, {fingerprint_});
  return true;
}

bool Wire::take(int peer, void* into, std::size_t bytes) {
  Peer& from = at(peer);
  if (from.receives_places && bytes >= least_in_place_) {
    const auto head = from.received == 0 ? from.in->frame_head() : std::nullopt;
    if (from.received == 0 && !head) return false;
    if (head) check(head->tag.fingerprint, peer);
    const std::span all(static_cast<std::byte*>(into), bytes);
    return moved(from.in->receive_into(all.subspan(from.received)), bytes, from.received);
  }
  const Frame* const frame = peek(peer, bytes);
  if (frame == nullptr) return false;
  std::memcpy(into, frame->payload.data(), bytes);
  from.in->release();
  return true;
}

void Wire::wait() {
  if (std::exchange(partly_, false)) return backoff_.reset();
  if (backoff_.look_around() && transport_->progress()) return;
  if (!backoff_.pause()) {
    silent_since_.reset();
    return;
  }
  transport_->progress();
  ::sched_yield();
  const auto now = std::chrono::steady_clock::now();
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ > longest_silence) {
    throw std::runtime_error("rank " + std::to_string(rank_) + " waited 30 s for a frame");
  }
}

void Wire::drain() {
  const auto flushed = [](const Peer& peer) { return peer.out == nullptr || peer.out->flushed(); };
  while (!std::all_of(peers_.begin(), peers_.end(), flushed)) after_look(transport_->progress());
}

}  // namespace rondo::bench
