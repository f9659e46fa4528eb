#include "core/execute/engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <string>
#include <utility>

#include "core/execute/order.h"
#include "kernels/cpu/reduce.h"

namespace rondo::detail {
namespace {

/// Blocked or unready instances that one look passes over before it gives up: those far ahead can
/// seldom run, and looking costs latency.
constexpr unsigned patience = 24;

bool is_complete(const Operation& operation, std::uint64_t index) {
  return index < operation.base || ((operation.complete >> (index - operation.base)) & 1) != 0;
}

/// All that the instance at `position` depends on is complete.
bool ready(const Operation& operation, const Position& position) {
  const PreparedCall& call = *operation.prepared;
  return rondo::ready(call.plan->program, call.slicing.interleaved, position,
                      [&](std::uint64_t index) { return is_complete(operation, index); });
}

}  // namespace

Engine::Engine(int rank, std::vector<Transport*> transports, DirectAccess* access,
               ControlChannel& control, bool oversubscribed, bool checksum)
    : rank_(rank),
      channels_(std::move(transports), checksum),
      control_(control),
      messages_(channels_.ranks()) {
  if (access != nullptr)
    merged_ =
        std::make_unique<MergedRun>(rank, channels_.ranks(), *access, control, oversubscribed);
}

void Engine::set_trace(trace::Recorder* recorder) {
  trace_ = recorder;
  if (merged_) merged_->set_trace(recorder);
}

void Engine::submit(Operation* operation) {
  if (operation->point_to_point_peer < 0) return collectives_.push(operation);
  messages_.push(operation);
}

bool Engine::run_at_once(Operation* operation, std::uint32_t looks) {
  bool done = false;
  try {
    done = collectives_.empty() && (operation->shared ? merged_->run_at_once(*operation, looks)
                                                      : run_in_order(*operation, looks));
  } catch (...) {
    collectives_.push(operation);  // fail_all() ends what is in the queue
    throw;
  }
  if (!done) {
    collectives_.push(operation);
    return false;
  }
  conclude(*operation);
  operation->finish_alone();
  return true;
}

bool Engine::progress() {
  moved_in_place_ = false;
  bool moved = false;
  while (!collectives_.empty()) {
    Operation& operation = *collectives_.front();
    const bool ended = run_collective(operation, moved);
    if (moved) note_move(operation);
    if (!ended) break;
    collectives_.pop();
    finish(operation);
    moved = true;  // also where only what was sent has left meanwhile
  }
  moved |= run_all_messages();
  // What it asks for has often come: a request is received, taken and answered in one look.
  constexpr int rounds = 4;
  for (int round = 0; round < rounds && service_ != nullptr && service_->serve(); ++round) {
    run_all_messages();
    moved = true;
  }
  return moved || moved_in_place_;
}

std::optional<std::size_t> Engine::arrived_from(int peer) {
  ReceiveChannel& in = channels_.receiver(peer, point_to_point_lane);
  if (in.receives_into_place()) {
    const std::optional<FrameHead> head = in.frame_head();
    return head ? std::optional(head->bytes) : std::nullopt;
  }
  const Frame* const head = in.peek();
  return head != nullptr ? std::optional(head->payload.size()) : std::nullopt;
}

bool Engine::run_collective(Operation& operation, bool& moved) {
  if (operation.shared) return run_shared(operation, moved);
  moved |= run(operation);
  return operation.base >= operation.prepared->instances() && channels_.handed_over();
}

bool Engine::run_shared(Operation& operation, bool& moved) {
  const MergedRun::Result result = merged_->run(operation);
  moved |= result != MergedRun::Result::waiting;
  operation.shared = result != MergedRun::Result::by_messages;
  if (!operation.shared) return run_collective(operation, moved);
  return result == MergedRun::Result::done;
}

bool Engine::run_all_messages() {
  return messages_.run_each([this](auto& queue) { return run_messages(queue); });
}

/// Runs the oldest, and each one after it while they end.
bool Engine::run_messages(Queue<Operation*>& queue) {
  bool moved = false;
  while (!queue.empty()) {
    Operation& operation = *queue.front();
    if (run(operation)) {
      moved = true;
      note_move(operation);
    }
    if (operation.base != operation.prepared->slicing.passes ||
        !channels_.handed_over(operation.point_to_point_peer, operation.sends))
      break;
    queue.pop();
    finish(operation);
    moved = true;
  }
  return moved;
}

bool Engine::run(Operation& operation) {
  grow_scratch(*operation.prepared);
  if (channels_.write_on()) {
    moved_in_place_ = true;
    // Else it may be of another operation. Where all is done but for what was sent, it counts.
    if (operation.base >= operation.prepared->instances()) note_move(operation);
  }
  bool moved = false;
  while (run_window(operation)) moved = true;
  return moved;
}

bool Engine::run_window(Operation& operation) {
  const PreparedCall& call = *operation.prepared;
  const std::uint32_t ops = call.ops();
  if (ops == 0) return false;
  const std::uint32_t interleaved = call.slicing.interleaved;
  const std::uint64_t end = std::min(operation.base + Operation::window, call.instances());
  unsigned waited = 0;
  bool moved = false;
  Position at{operation.base, operation.pass, operation.op, operation.beside};
  for (; at.index < end && waited < patience; at.advance(ops, interleaved)) {
    if (is_complete(operation, at.index)) continue;
    if (call.plan == nullptr
            ? try_short(operation, call.short_ops[at.op])
            : ready(operation, at) && try_op(operation, at.op, at.pass + at.beside, at.index)) {
      operation.complete |= std::uint64_t{1} << (at.index - operation.base);
      moved = true;
    } else {
      ++waited;
    }
  }
  const int finished = std::countr_one(operation.complete);
  operation.complete = finished == 64 ? 0 : operation.complete >> finished;
  at = {operation.base, operation.pass, operation.op, operation.beside};
  for (int i = 0; i < finished; ++i) at.advance(ops, interleaved);
  operation.base = at.index;
  operation.pass = at.pass;
  operation.op = at.op;
  operation.beside = at.beside;
  return moved;
}

bool Engine::try_op(Operation& operation, std::uint32_t op, std::uint64_t pass,
                    std::uint64_t index) {
  InPlace& in_place = operation.in_place[index % Operation::window];
  if (!run_op({operation, operation.prepared->plan->program.ops[op], pass, in_place})) return false;
  in_place = {};
  return true;
}

void Engine::throw_mismatch(const Call& call, int peer) const {
  throw Error(ErrorCode::mismatch,
              call.blocks == between_pairs
                  ? "this rank's receive count or type differs from the peer's send count or "
                    "type, or the peer makes another call"
                  : "the count or type of this recv differs from that of the peer's send",
              {.rank = rank_,
               .peer = peer,
               .call = to_string(call),
               .remedy = "give both sides of each pair the same count and type"});
}

/// No diagnosis can know better what happened than the rank that has seen it. So the communicator
/// fails first, before this looks like the complaint of a transport whose peer is dying.
void Engine::throw_changed(const Operation& operation, int peer, std::size_t bytes,
                           std::uint32_t computed, std::uint32_t checksum) const {
  Call call = operation.prepared->call;
  if (operation.point_to_point_peer < 0) call.sequence = operation.sequence;
  std::array<char, 64> sums{};
  std::snprintf(sums.data(), sums.size(), "has CRC32C %08x, and was sent with %08x", computed,
                checksum);
  const Error error(ErrorCode::system,
                    "data was changed on the way from rank " + std::to_string(peer) + " to rank " +
                        std::to_string(rank_) + " over " + std::string(channels_.name_of(peer)) +
                        ": a frame of " + std::to_string(bytes) + " bytes " + sums.data(),
                    {.rank = rank_,
                     .peer = peer,
                     .call = to_string(call),
                     .remedy = "check that nothing writes to a buffer while it is sent; else test "
                               "the memory, adapters and cables of the two, or use another "
                               "transport or interface"});
  control_.fail(error);
  throw Error(error);
}

bool Engine::foreign(const Operation& operation, int peer, std::uint64_t fingerprint) {
  if (fingerprint == operation.fingerprint) return false;
  if (operation.point_to_point_peer >= 0) throw_mismatch(operation.prepared->call, peer);
  if (std::exchange(reported_mismatch_, operation.sequence) != operation.sequence) {
    control_.report_mismatch(peer, operation.sequence);
  }
  return true;
}

void Engine::conclude(Operation& operation) {
  const PreparedCall& call = *operation.prepared;
  if (call.divisor > 1)
    divide(call.call.type, operation.output, call.divisor, call.output_elements);
  CallLog& log = control_.calls();
  if (operation.point_to_point_peer < 0) {
    call.plan != nullptr ? log.complete(operation.sequence)
                         : log.complete_apart(operation.sequence);
  }
  if (trace_ != nullptr) trace_->end(operation.traced, operation.shared);
}

void Engine::watch_oldest() {
  if (watch_.operation != nullptr) return;
  watch_ = {collectives_.empty() ? messages_.oldest() : collectives_.front(), false};
}

void Engine::finish(Operation& operation) {
  if (&operation == watch_.operation) watch_ = {};
  conclude(operation);
  operation.finish();
}

void Engine::fail_all(const std::exception_ptr& failure) {
  watch_ = {};
  if (merged_) merged_->withdraw([this] { channels_.progress(); });
  for (Operation* operation : collectives_) operation->finish(failure);
  collectives_.clear();
  messages_.run_each([&](Queue<Operation*>& queue) {
    for (Operation* operation : queue) operation->finish(failure);
    queue.clear();
    return true;
  });
  if (service_ != nullptr) service_->end(failure);
}

Traffic Engine::traffic() const {
  Traffic all = sent_;
  if (!merged_) return all;
  const Given given = merged_->given();
  all.messages += given.messages;
  all.payload_bytes += given.bytes;
  all.direct_bytes = given.bytes;
  return all;
}

}  // namespace rondo::detail
