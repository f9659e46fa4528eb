// How a rank serves the one-sided calls of its peers, and takes their answers. Under the progress lock.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/communicator/one_sided.h"

namespace rondo::detail {

bool OneSided::serve() {
  // A signal that came directly moves nothing here, but whoever waits for it must not go to sleep.
  bool moved = wait_ && stamp().signals != seen_.signals;
  if (!has_peers()) return moved;
  for (int peer = 0; peer < state_->size(); ++peer) {
    if (peer != rank()) moved |= serve(peer);
  }
  return moved;
}

bool OneSided::serve(int peer) {
  reap(at(peer));
  Arrival& arrival = at(peer).arrival;
  bool moved = false;
  for (;; moved = true) {
    if (arrival.operation == nullptr) return receive_request(peer) || moved;
    // After a failure nothing more is taken.
    if (!arrival.operation->is_done() || arrival.operation->error) return moved;
    arrival.operation.reset();
    if (std::exchange(arrival.in_bytes, false)) {
      complete(peer);
    } else {
      take_request(peer);
    }
  }
}

/// A peer may leave before this rank does, which is no failure where nothing is expected of it. If it
/// has died, the control channel says so.
std::optional<std::size_t> OneSided::arrived_from(int peer) {
  if (at(peer).has_left && !waits_for(peer)) return std::nullopt;
  try {
    return state_->engine().arrived_from(peer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::peer_lost || waits_for(peer)) throw;
    at(peer).has_left = true;
    return std::nullopt;
  }
}

/// A request is one frame, whose length says how many bytes come with it.
bool OneSided::receive_request(int peer) {
  const std::optional<std::size_t> bytes = arrived_from(peer);
  if (!bytes) return false;
  Arrival& arrival = at(peer).arrival;
  if (*bytes < sizeof(Request) || *bytes > longest_request) throw unexpected(peer);
  if (*bytes > arrival.frame.size()) arrival.frame.resize(*bytes);
  arrival.bytes = *bytes;
  arrival.operation = submit(peer, false, nullptr, arrival.frame.data(), *bytes);
  return true;
}

void OneSided::take_request(int peer) {
  Request& request = at(peer).arrival.request;
  std::memcpy(&request, at(peer).arrival.frame.data(), sizeof request);
  ++at(peer).requests;
  const auto block = [&] {
    return blocks_.part_of(request.window, rank(), request.offset, request.bytes).here;
  };
  switch (request.kind) {
    case Kind::put:
      return take_bytes(peer, block());
    case Kind::signal:
      return complete(peer);
    case Kind::get:
      post(peer, {.bytes = request.bytes, .kind = Kind::reply}, block());
      return;
    case Kind::flush:
      post(peer, {.kind = Kind::reply}, nullptr);
      return;
    case Kind::reply:
      return take_reply(peer);
  }
  throw unexpected(peer);
}

void OneSided::take_reply(int peer) {
  Peer& from = at(peer);
  if (from.replies_to_gets.empty()) throw unexpected(peer);
  const bool to_get = from.replies_to_gets.front();
  from.replies_to_gets.pop_front();
  if (!to_get) {
    --from.flushes;
    return;
  }
  if (from.gets.front().bytes != from.arrival.request.bytes) throw unexpected(peer);
  take_bytes(peer, from.gets.front().destination);
}

void OneSided::take_bytes(int peer, std::byte* into) {
  Arrival& arrival = at(peer).arrival;
  const std::size_t bytes = arrival.request.bytes;
  const std::size_t came = arrival.bytes - sizeof(Request);
  if (came != bytes) {
    arrival.in_bytes = true;
    arrival.operation = submit(peer, false, nullptr, into, bytes);
    return;
  }
  if (bytes > 0) std::memcpy(into, arrival.frame.data() + sizeof(Request), bytes);
  complete(peer);
}

/// All bytes of the request are in their place. Release: see give_signal().
void OneSided::complete(int peer) {
  const Request& request = at(peer).arrival.request;
  if (request.kind == Kind::reply) return end_get(at(peer));
  if (request.signal < 0) return;
  check_signal(request.signal);
  own_counter(peer, request.signal).fetch_add(1, std::memory_order_release);
}

void OneSided::end_get(Peer& peer) {
  const Part whole = peer.gets.front().whole;
  peer.gets.pop_front();
  --gets_;
  whole->finish();
}

Error OneSided::unexpected(int peer) const {
  return Error(
      ErrorCode::internal, "the peer sent what is no one-sided call",
      {.rank = rank(), .peer = peer, .remedy = "use the same version of rondo on all ranks"});
}

void OneSided::end(const std::exception_ptr& failure) {
  ended_ = true;
  for (Peer& peer : peers_) {
    for (const PendingGet& get : peer.gets) get.whole->finish(failure);
    peer.gets.clear();
  }
  gets_ = 0;
}

bool OneSided::waits_for(int peer) const {
  const auto is_its = [&](const Signal& signal) { return signal.peer == peer; };
  const bool here = wait_ && (wait_->wanted.empty() ? wait_->peer == peer
                                                    : std::ranges::any_of(wait_->wanted, is_its));
  return here || !at(peer).gets.empty();
}

OneSided::Wait OneSided::awaited_wait() const {
  if (wait_) return *wait_;
  int peer = 0;
  while (at(peer).gets.empty()) ++peer;
  return {"get", peer};
}

Awaited OneSided::awaited() const {
  const Wait wait = awaited_wait();
  std::string what = wait.call;
  if (wait.wanted.size() == 1) what += " " + std::to_string(wait.wanted.front().signal);
  return {wait.peer, what};
}

OneSided::Stamp OneSided::stamp() const {
  const auto place = [](std::uint64_t count, const Part& part) {
    return (count << 32) + (part ? part->base : 0);
  };
  const Wait wait = awaited_wait();
  Stamp now{};
  const auto add = [&](int peer) {
    const Peer& from = at(peer);
    now.received += place(from.requests, from.arrival.operation);
    if (wait.wanted.empty())
      now.sent +=
          place(from.sent, from.outgoing.empty() ? nullptr : from.outgoing.front().operation);
  };
  if (wait.wanted.empty()) add(wait.peer);
  for (const Signal& each : wait.wanted) {
    add(each.peer);
    now.signals += own_counter(each.peer, each.signal).load(std::memory_order_relaxed);
  }
  return now;
}

bool OneSided::progress_counts() {
  const Stamp now = stamp();
  return std::exchange(seen_, now) != now;
}

}  // namespace rondo::detail
