// One-sided calls, as the rank makes them. How it serves its peers: one_sided_serve.cc.
#include "core/communicator/one_sided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/communicator/one_sided_direct.h"
#include "core/memory/windows.h"

namespace rondo::detail {
namespace {

/// Requests to one peer that may wait to be sent. Beyond, a call waits.
constexpr std::size_t most_outgoing = 64;

const Call barrier_call{.collective = Collective::barrier};

}  // namespace

OneSided::OneSided(std::shared_ptr<CommunicatorState> state)
    : state_(std::move(state)),
      blocks_(*state_),
      counters_(Windows::allocate(Windows::of_process(), counters_bytes(state_->size()))),
      taken_(static_cast<std::size_t>(state_->size()) * signals),
      peers_(static_cast<std::size_t>(state_->size())) {
  const Progress::Lock lock(state_->progress());
  state_->engine().set_service(this);
}

std::shared_ptr<OneSided> OneSided::open(std::shared_ptr<CommunicatorState> state) {
  // Made before it can fail: its destructor takes it out of the engine.
  auto calls = std::make_shared<OneSided>(std::move(state));
  calls->add_counters();
  return calls;
}

OneSided::~OneSided() {
  if (!state_->is_own()) return;
  if (!is_over()) state_->abort("a window was destroyed before it was closed");
  const Progress::Lock lock(state_->progress());
  // No operation may be left that uses what is destroyed here.
  while (!closed_ && !state_->engine().idle()) state_->progress().look();
  if (!closed_) take_blocks_away();
  end(std::make_exception_ptr(closed_error()));
  state_->engine().set_service(nullptr);
}

void OneSided::check_block(const void* memory, std::size_t bytes, int rank) {
  if (bytes == 0 || memory != nullptr) return;
  throw Error(ErrorCode::invalid_argument, "the block of a window is null",
              {.rank = rank, .remedy = "pass memory, or 0 bytes"});
}

/// A rank that cannot have it tells the others why.
std::uint32_t OneSided::add_window(void* memory, std::size_t bytes,
                                   const std::shared_ptr<void>& owner) {
  try {
    const std::uint32_t number = blocks_.add(memory, bytes, owner);
    if (blocks_.needs_messages()) state_->progress().carry_on_in_background();
    state_->call(barrier_call, nullptr, nullptr);  // peers may now write to it
    return number;
  } catch (const Error& error) {
    state_->end_with(error);
    throw;
  }
}

Error OneSided::closed_error() const {
  return Error(ErrorCode::invalid_usage, "this window was closed",
               {.rank = rank(), .remedy = "make a new one"});
}

void OneSided::require_usable() {
  if (closed_) throw closed_error();
  state_->require_usable();
}

bool OneSided::is_over() {
  const Progress::Lock lock(state_->progress());
  return closed_ || state_->is_finalized();
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

OneSided::Part OneSided::put(const WindowPlace& to, const void* source, std::optional<int> signal) {
  check_peer(to.peer);
  if (signal) check_signal(*signal);
  std::byte* here = nullptr;
  {
    const Progress::Lock lock(state_->progress());
    require_usable();
    here = checked_part(to, source).here;
    if (here == nullptr && to.bytes > 0) {
      wait_for_room(to.peer, "put");
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
  if (to.bytes > 0) {
    const DirectWork work(*this, to.peer);
    std::memmove(here, source, to.bytes);  // a rank may put into its own block what lies in it
    direct_.messages += to.peer != rank() ? 1 : 0;
    direct_.payload_bytes += to.peer != rank() ? to.bytes : 0;
  }
  if (signal) this->signal(to.peer, *signal);
  return nullptr;
}

OneSided::Part OneSided::get(const WindowPlace& from, void* destination) {
  check_peer(from.peer);
  std::byte* here = nullptr;
  {
    const Progress::Lock lock(state_->progress());
    require_usable();
    here = checked_part(from, destination).here;
    if (here == nullptr && from.bytes > 0) {
      wait_for_room(from.peer, "get");
      const Part whole = std::make_shared<Operation>();
      whole->reopen();
      post(from.peer,
           {.offset = from.offset, .bytes = from.bytes, .window = from.window, .kind = Kind::get},
           nullptr);
      Peer& peer = at(from.peer);
      peer.gets.push_back({static_cast<std::byte*>(destination), from.bytes, whole});
      peer.replies_to_gets.push_back(true);
      ++gets_;
      state_->progress().look();
      return whole;
    }
  }
  if (from.bytes > 0) {
    const DirectWork work(*this, from.peer);
    std::memmove(destination, here, from.bytes);
  }
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

void OneSided::finish(const Part& part, int peer) {
  if (part == nullptr) return;
  const Progress::Lock lock(state_->progress());
  // Also after a failure: until the operation has ended the engine reads the caller's bytes.
  const Waiting waiting(*this, {"put", peer});
  state_->progress().drive(*part);
  if (part->error) std::rethrow_exception(part->error);
}

void OneSided::flush(int peer) {
  check_peer(peer);
  const Progress::Lock lock(state_->progress());
  require_usable();
  ask_to_flush(peer);
  await({"flush", peer}, [&] { return !is_flushed(peer); });
}

void OneSided::flush() {
  const Progress::Lock lock(state_->progress());
  require_usable();
  for (int peer = 0; peer < state_->size(); ++peer) ask_to_flush(peer);
  for (int peer = 0; peer < state_->size(); ++peer)
    await({"flush", peer}, [&] { return !is_flushed(peer); });
}

void OneSided::ask_to_flush(int peer) {
  if (!at(peer).unflushed) return;
  wait_for_room(peer, "flush");
  post(peer, {.kind = Kind::flush}, nullptr);
  at(peer).replies_to_gets.push_back(false);
  ++at(peer).flushes;
  at(peer).unflushed = false;
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
  {
    const Progress::Lock lock(state_->progress());
    closed_ = true;  // nobody is served any more
  }
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
  return send(peer, nullptr, bytes, count);
}

void OneSided::send_copy(int peer, const Request* request, const void* bytes, std::size_t count) {
  const std::size_t head = request == nullptr ? 0 : sizeof *request;
  auto copy = std::make_unique_for_overwrite<std::byte[]>(head + count);
  if (head > 0) std::memcpy(copy.get(), request, head);
  if (count > 0) std::memcpy(copy.get() + head, bytes, count);
  const std::byte* const from = copy.get();
  send(peer, std::move(copy), from, head + count);
}

/// `kept`: what lasts until they have gone, where they lie in it.
OneSided::Part OneSided::send(int peer, std::unique_ptr<std::byte[]> kept, const void* bytes,
                              std::size_t count) {
  std::deque<Outgoing>& all = at(peer).outgoing;
  Outgoing& outgoing = all.emplace_back();
  try {
    outgoing.operation = submit(peer, true, bytes, nullptr, count);
  } catch (...) {
    all.pop_back();  // no operation uses the bytes
    throw;
  }
  outgoing.kept = std::move(kept);
  return outgoing.operation;
}

void OneSided::reap(Peer& peer) {
  while (!peer.outgoing.empty() && peer.outgoing.front().operation->is_done()) {
    peer.outgoing.pop_front();
    ++peer.sent;
  }
}

void OneSided::wait_for_room(int peer, const char* call) {
  await({call, peer}, [&] {
    reap(at(peer));
    return at(peer).outgoing.size() >= most_outgoing;
  });
}

}  // namespace rondo::detail
