#include "tools/trainer/strategy/asynchronous.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rondo::train {
namespace {

/// visit(number, its place) for all numbers of a replica.
template <class Visit>
void each_number(const Asynchronous::Replica& replica, Visit visit) {
  std::size_t place = 0;
  for (const std::span<float> part : replica)
    for (float& number : part) visit(number, place++);
}

}  // namespace

Asynchronous::Asynchronous(Communicator& world, Ledger& ledger, std::size_t count, const Pace& pace)
    : world_(world),
      count_(count),
      pace_(pace),
      places_(ledger, Use::buckets,
              static_cast<std::size_t>(world.size()) * (header_floats + count)),
      changes_(ledger, Use::buckets,
               static_cast<std::size_t>(world.size()) * (header_floats + count)),
      base_(ledger, Use::compensation, count),
      peers_(static_cast<std::size_t>(world.size())) {}

void Asynchronous::start(const Replica& replica) {
  const std::size_t length = header_floats + count_;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    peers_[peer].place = places_.span().subspan(peer * length, length);
    peers_[peer].change = changes_.span().subspan(peer * length, length);
  }
  remember(replica);
  window_.emplace(world_, places_.data(), places_.span().size_bytes());
}

void Asynchronous::remember(const Replica& replica) {
  each_number(replica, [&](float value, std::size_t i) { base_[i] = value; });
}

void Asynchronous::after_step(const Replica& replica) {
  ++step_;
  settled_ = false;
  if (step_ % pace_.local_steps == 0) add_changes(replica);
  exchange(replica);
  const auto is_late = [&](const Peer& peer) {
    return peer.since() > 0 && step_ - peer.since() >= pace_.staleness;
  };
  wait_while(is_late, replica);
}

/// Of what this rank has changed, every replica keeps the P-th part.
void Asynchronous::add_changes(const Replica& replica) {
  const float share = 1.0F / static_cast<float>(peers_.size());
  const Peer& own = peers_[static_cast<std::size_t>(rank())];
  float* const base = base_.data();
  float* const change = own.change.data() + header_floats;
  each_number(replica, [&](float& value, std::size_t i) {
    change[i] = (value - base[i]) * share;
    base[i] += change[i];
    value = base[i];
  });
  for (Peer& peer : peers_) {
    if (&peer == &own) continue;
    for (std::size_t i = header_floats; i < peer.change.size(); ++i)
      peer.change[i] += own.change[i];
    if (peer.due_since == 0) peer.due_since = step_;
  }
}

void Asynchronous::exchange(const Replica& replica) {
  for (int peer = 0; peer < world_.size(); ++peer) {
    if (peer == rank()) continue;
    if (window_->test_signal(peer, freed)) note_freed(peer);
    send(peer);
    if (window_->test_signal(peer, arrived)) take(peer, replica);
  }
}

/// Whoever waits here goes on taking: its peers may wait for that.
void Asynchronous::wait_for_any(int late, const Replica& replica) {
  std::vector<Signal> all;
  for (int i = 0; i < world_.size(); ++i) {
    const int peer = (late + i) % world_.size();
    if (peer == rank()) continue;
    all.insert(all.end(), {{peer, freed}, {peer, arrived}, {peer, done}});
  }
  const Signal came = all[window_->wait_any(all)];
  if (came.signal == freed) note_freed(came.peer);
  if (came.signal == arrived) take(came.peer, replica);
  if (came.signal == done) peers_[static_cast<std::size_t>(came.peer)].is_done = true;
}

void Asynchronous::note_freed(int by) {
  Peer& peer = peers_[static_cast<std::size_t>(by)];
  peer.sent_since = 0;
  send(by);
}

template <class IsLate>
void Asynchronous::wait_while(IsLate is_late, const Replica& replica) {
  for (int peer = 0; peer < world_.size(); ++peer) {
    while (peer != rank() && is_late(peers_[static_cast<std::size_t>(peer)])) {
      wait_for_any(peer, replica);
      exchange(replica);  // what came before it must not get older
    }
  }
}

void Asynchronous::send(int to) {
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  if (peer.due_since == 0 || peer.sent_since > 0) return;
  const Header header{step_, peer.seen};
  std::memcpy(peer.change.data(), &header, sizeof header);
  window_->put_signal(peer.change, to, static_cast<std::size_t>(rank()) * peer.change.size(),
                      arrived);
  std::ranges::fill(peer.change, 0.0F);
  peer.sent_since = std::exchange(peer.due_since, 0);
}

void Asynchronous::take(int from, const Replica& replica) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  Header header{};
  std::memcpy(&header, peer.place.data(), sizeof header);
  const float* const change = peer.place.data() + header_floats;
  float* const base = base_.data();
  each_number(replica, [&](float& value, std::size_t i) {
    value += change[i];
    base[i] += change[i];
  });
  window_->signal(from, freed);
  peer.seen = header.step;
  const std::uint64_t stale = step_ - header.seen;
  ++staleness_.changes;
  staleness_.steps += stale;
  staleness_.longest = std::max(staleness_.longest, stale);
}

void Asynchronous::settle(const Replica& replica) {
  if (settled_) return;
  add_changes(replica);
  exchange(replica);
  wait_while([](const Peer& peer) { return peer.since() > 0; }, replica);
  // All that this rank has sent is taken. Until the others can say so, too, it takes theirs.
  for (int peer = 0; peer < world_.size(); ++peer)
    if (peer != rank()) window_->signal(peer, done);
  for (std::size_t peer = 0; peer < peers_.size(); ++peer)
    while (static_cast<int>(peer) != rank() && !peers_[peer].is_done)
      wait_for_any(static_cast<int>(peer), replica);
  for (Peer& peer : peers_) peer.is_done = false;
  // The sums were rounded in different orders.
  for (const std::span<float> part : replica) world_.broadcast(part, 0);
  remember(replica);
  settled_ = true;
}

}  // namespace rondo::train
