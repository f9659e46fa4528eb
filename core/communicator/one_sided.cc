// One-sided calls, as the rank makes them. How it serves its peers: one_sided_serve.cc.
#include "core/communicator/one_sided.h"

#include <cstring>
#include <utility>

namespace rondo::detail {
namespace {

/// Requests to one peer that may wait to be sent. Beyond, a call waits.
constexpr std::size_t most_outgoing = 64;
constexpr std::uint32_t counters_window = 0;

const Call barrier_call{.collective = Collective::barrier};

}  // namespace

OneSided::OneSided(std::shared_ptr<CommunicatorState> state)
    : state_(std::move(state)),
      blocks_(*state_),
      counters_(
          allocate(static_cast<std::size_t>(state_->size()) * signals * sizeof(std::uint64_t))),
      taken_(static_cast<std::size_t>(state_->size()) * signals),
      peers_(static_cast<std::size_t>(state_->size())) {
  {
    const Progress::Lock lock(state_->progress());
    state_->engine().set_service(this);
  }
  add_window(counters_.data(), counters_.size());
}

OneSided::~OneSided() {
  if (!state_->is_own()) return;
  if (!closed_) state_->abort("a window was destroyed before it was closed");
  const Progress::Lock lock(state_->progress());
  // No operation may be left that uses what is destroyed here.
  while (!closed_ && !state_->engine().idle()) state_->progress().look();
  state_->engine().set_service(nullptr);
}

std::uint32_t OneSided::add_window(void* memory, std::size_t bytes) {
  if (bytes > 0 && memory == nullptr)
    throw Error(ErrorCode::invalid_argument, "the block of a window is null",
                {.rank = rank(), .remedy = "pass memory, or 0 bytes"});
  const std::uint32_t number = blocks_.add(memory, bytes);
  if (blocks_.needs_messages()) state_->progress().carry_on_in_background();
  state_->call(barrier_call, nullptr, nullptr);  // peers may now write to it
  return number;
}

void OneSided::remove_window(std::uint32_t number) {
  const Progress::Lock lock(state_->progress());
  blocks_.remove(number);
}

void OneSided::check_peer(int peer) const {
  if (peer >= 0 && peer < state_->size()) return;
  throw Error(ErrorCode::invalid_argument,
              "rank " + std::to_string(peer) + " does not exist among " +
                  std::to_string(state_->size()) + " ranks",
              {.rank = rank(), .remedy = "name a rank of the window's communicator"});
}

void OneSided::check_signal(int signal) const {
  if (signal >= 0 && signal < static_cast<int>(signals)) return;
  throw Error(ErrorCode::invalid_argument, "signal " + std::to_string(signal) + " does not exist",
              {.rank = rank(), .remedy = "use numbers from 0 to " + std::to_string(signals - 1)});
}

std::atomic_ref<std::uint64_t> OneSided::counter(std::byte* counters, int from, int signal) {
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "shared between processes");
  const std::size_t at =
      static_cast<std::size_t>(from) * signals + static_cast<std::size_t>(signal);
  return std::atomic_ref(reinterpret_cast<std::uint64_t*>(counters)[at]);
}

// Relaxed: only this rank takes. Acquire pairs with the release of give_signal() and complete().
bool OneSided::take(int peer, int signal, std::size_t count) {
  std::uint64_t& taken =
      taken_[static_cast<std::size_t>(peer) * signals + static_cast<std::size_t>(signal)];
  if (own_counter(peer, signal).load(std::memory_order_acquire) - taken < count) return false;
  taken += count;
  return true;
}

OneSided::Part OneSided::put(const WindowPlace& to, const void* source, std::optional<int> signal) {
  check_peer(to.peer);
  if (signal) check_signal(*signal);
  std::byte* here = nullptr;
  {
    const Progress::Lock lock(state_->progress());
    state_->require_usable();
    here = checked_part(to, source).here;
    if (here == nullptr && to.bytes > 0) {
      wait_for_room(to.peer);
      at(to.peer).unflushed = true;
      const Part rest = post(to.peer,
                             {.offset = to.offset,
                              .bytes = to.bytes,
                              .window = to.window,
                              .signal = static_cast<std::int16_t>(signal.value_or(-1))},
                             source);
      state_->progress().look();
      return rest;
    }
  }
  if (to.bytes > 0) std::memcpy(here, source, to.bytes);
  if (to.peer != rank()) {
    ++direct_.messages;
    direct_.payload_bytes += to.bytes;
  }
  if (signal) this->signal(to.peer, *signal);
  return nullptr;
}

OneSided::Part OneSided::get(const WindowPlace& from, void* destination) {
  check_peer(from.peer);
  std::byte* here = nullptr;
  {
    const Progress::Lock lock(state_->progress());
    state_->require_usable();
    here = checked_part(from, destination).here;
    if (here == nullptr && from.bytes > 0) {
      wait_for_room(from.peer);
      const Part whole = std::make_shared<Operation>();
      whole->reopen();
      Peer& peer = at(from.peer);
      peer.gets.push_back({static_cast<std::byte*>(destination), from.bytes, whole});
      peer.replies_to_gets.push_back(true);
      ++gets_;
      post(from.peer,
           {.offset = from.offset, .bytes = from.bytes, .window = from.window, .kind = Kind::get},
           nullptr);
      state_->progress().look();
      return whole;
    }
  }
  if (from.bytes > 0) std::memcpy(destination, here, from.bytes);
  return nullptr;
}

void OneSided::check(const WindowPlace& place, const void* own) const {
  check_peer(place.peer);
  const Progress::Lock lock(state_->progress());
  checked_part(place, own);
}

WindowBlocks::Block OneSided::checked_part(const WindowPlace& place, const void* own) const {
  if (place.bytes > 0 && own == nullptr)
    throw Error(ErrorCode::invalid_argument, "the buffer is null",
                {.rank = rank(), .remedy = "pass memory, or 0 bytes"});
  return blocks_.part_of(place.window, place.peer, place.offset, place.bytes);
}

Traffic OneSided::traffic() const {
  Traffic all = state_->traffic();
  all.messages += direct_.messages;
  all.payload_bytes += direct_.payload_bytes;
  all.direct_bytes += direct_.payload_bytes;
  return all;
}

void OneSided::signal(int peer, int signal) {
  check_peer(peer);
  check_signal(signal);
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  const std::byte* const direct = blocks_.part_of(counters_window, peer, 0, 0).here;
  if (direct != nullptr && !at(peer).unflushed) return give_signal(peer, signal);
  wait_for_room(peer);
  post(peer, {.signal = static_cast<std::int16_t>(signal), .kind = Kind::signal}, nullptr);
  state_->progress().look();
}

/// Release: the peer that loads the counter with acquire in take() sees the bytes that were put.
void OneSided::give_signal(int peer, int signal) {
  std::byte* const counters = blocks_.part_of(counters_window, peer, 0, 0).here;
  counter(counters, rank(), signal).fetch_add(1, std::memory_order_release);
  if (peer != rank()) state_->connections().direct()->wake(peer);
}

void OneSided::wait_signal(int peer, int signal, std::size_t count) {
  check_peer(peer);
  check_signal(signal);
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  await({peer, "wait_signal", signal}, [&] { return !take(peer, signal, count); });
}

std::size_t OneSided::wait_any(std::span<const Signal> wanted) {
  if (wanted.empty())
    throw Error(ErrorCode::invalid_argument, "a wait for none of no signals does not end",
                {.rank = rank(), .remedy = "name at least one"});
  for (const Signal& each : wanted) {
    check_peer(each.peer);
    check_signal(each.signal);
  }
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  std::size_t which = 0;
  await({wanted.front().peer, "wait_any", wanted.front().signal}, [&] {
    for (which = 0; which < wanted.size(); ++which)
      if (take(wanted[which].peer, wanted[which].signal, 1)) return false;
    return true;
  });
  return which;
}

bool OneSided::test_signal(int peer, int signal, std::size_t count) {
  check_peer(peer);
  check_signal(signal);
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  if (take(peer, signal, count)) return true;
  state_->progress().look();
  state_->require_usable();
  return take(peer, signal, count);
}

template <class Pending>
void OneSided::await(const Wait& wait, Pending is_pending) {
  if (!is_pending()) return;
  struct Waiting {
    explicit Waiting(std::optional<Wait>& what) : what(what) {}
    ~Waiting() { what.reset(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::optional<Wait>& what;
  };
  wait_ = wait;
  const Waiting waiting(wait_);
  state_->progress().drive_while([&] {
    state_->require_usable();
    return is_pending();
  });
}

void OneSided::flush(int peer) {
  check_peer(peer);
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  ask_to_flush(peer);
  await({peer, "flush"}, [&] { return at(peer).flushes > 0; });
}

void OneSided::flush() {
  const Progress::Lock lock(state_->progress());
  state_->require_usable();
  for (int peer = 0; peer < state_->size(); ++peer) ask_to_flush(peer);
  for (int peer = 0; peer < state_->size(); ++peer)
    await({peer, "flush"}, [&] { return at(peer).flushes > 0; });
}

void OneSided::ask_to_flush(int peer) {
  Peer& asked = at(peer);
  if (!std::exchange(asked.unflushed, false)) return;
  wait_for_room(peer);
  ++asked.flushes;
  asked.replies_to_gets.push_back(false);
  post(peer, {.kind = Kind::flush}, nullptr);
}

void OneSided::fence() {
  flush();
  state_->call(barrier_call, nullptr, nullptr);
}

void OneSided::close() {
  if (closed_) return;
  fence();
  leave();
}

void OneSided::leave() {
  if (closed_) return;
  closed_ = true;
  state_->finalize();
}

// ---- sending, under the progress lock

OneSided::Part OneSided::submit(int peer, bool sends, const void* from, void* to,
                                std::size_t bytes) {
  const Call call{.count = bytes, .collective = Collective::send_recv, .type = DataType::uint8};
  return state_->submit({call, peer, sends}, from, to);
}

OneSided::Part OneSided::post(int peer, Request request, const void* bytes) {
  const std::size_t room =
      std::min(longest_request, state_->connections().frame_bytes()) - sizeof request;
  const std::size_t count = bytes == nullptr ? 0 : request.bytes;
  if (count <= room) {
    send_copy(peer, &request, bytes, count);
    return nullptr;
  }
  send_copy(peer, &request, nullptr, 0);
  // A block may change while it is read: that must not look as if it had changed on its way.
  if (request.kind == Kind::reply && state_->config().checksum) {
    send_copy(peer, nullptr, bytes, count);
    return nullptr;
  }
  return submit(peer, true, bytes, nullptr, count);
}

void OneSided::send_copy(int peer, const Request* request, const void* bytes, std::size_t count) {
  Outgoing& outgoing = at(peer).outgoing.emplace_back();
  const std::size_t head = request == nullptr ? 0 : sizeof *request;
  outgoing.bytes.resize(head + count);
  if (head > 0) std::memcpy(outgoing.bytes.data(), request, head);
  if (count > 0) std::memcpy(outgoing.bytes.data() + head, bytes, count);
  outgoing.operation = submit(peer, true, outgoing.bytes.data(), nullptr, outgoing.bytes.size());
}

void OneSided::reap(Peer& peer) {
  while (!peer.outgoing.empty() && peer.outgoing.front().operation->is_done())
    peer.outgoing.pop_front();
}

void OneSided::wait_for_room(int peer) {
  await({peer, "put"}, [&] {
    reap(at(peer));
    return at(peer).outgoing.size() >= most_outgoing;
  });
}

}  // namespace rondo::detail
