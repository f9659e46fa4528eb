// Making calls: numbering, pooling, submitting.
#include <algorithm>
#include <cstring>

#include "core/communicator/arguments.h"
#include "core/communicator/exchange.h"
#include "core/communicator/remedies.h"
#include "core/communicator/state.h"

namespace rondo::detail {
namespace {

/// The longest block of an exchange that goes without operations. Beyond, copying takes the time.
constexpr std::size_t short_block_bytes = std::size_t{16} << 10;

/// Whether these buffers are missing, large or overlap: then they may be an error. A small buffer for a
/// whole vector, as in most in-place calls, needs no closer look; nor does a rank that only gives, or
/// only takes.
bool wants_check(const PreparedCall& prepared, const void* input, const void* output) {
  const std::size_t in_bytes = prepared.input_elements * prepared.element_bytes;
  const std::size_t out_bytes = prepared.output_elements * prepared.element_bytes;
  if (std::max(in_bytes, out_bytes) >= looked_at_bytes) return true;
  if (input == output && input != nullptr && is_vector(prepared.call.collective)) return false;
  if ((in_bytes > 0 && input == nullptr) || (out_bytes > 0 && output == nullptr)) return true;
  if (in_bytes == 0 || out_bytes == 0) return false;
  const auto in = reinterpret_cast<std::uintptr_t>(input);
  const auto out = reinterpret_cast<std::uintptr_t>(output);
  return in < out + out_bytes && out < in + in_bytes;
}

/// Begins every message of an exchange by begin_one(PairMessage), except those to the rank itself.
/// The block that stays on the rank is copied once the others are under way.
template <class BeginOne>
void begin_messages(const Exchange& exchange, int rank, BeginOne begin_one) {
  const std::vector<PairMessage> messages = messages_of(exchange, rank);
  // All sends leave before any receive is looked for.
  for (const bool sends : {true, false}) {
    for (const PairMessage& each : messages) {
      if (each.message.peer != rank && each.message.sends == sends) begin_one(each);
    }
  }
  copy_own_block(exchange, rank);
}

}  // namespace

std::uint64_t CommunicatorState::number(const Exchange& exchange) {
  const Call call = call_of(exchange);
  return numbering_.number(call, fingerprint_base(call), true).sequence;
}

void CommunicatorState::begin(const Call& asked, const void* input, void* output,
                              Operation& operation, Counts counts) {
  lifetime_.require_usable();
  begin(plans_.of(resolved(asked), counts), input, output, operation);
}

void CommunicatorState::begin(const Prepared& prepared, const void* input, void* output,
                              Operation& operation) {
  const Call& call = prepared->call;
  if (wants_check(*prepared, input, output))
    check_call(call, input, output, rank(), size(), prepared->counts, true);
  operation.start(prepared, input, output);
  operation.history = numbering_.history();
  const Numbering::Numbered numbered = numbering_.number(call, prepared->fingerprint_base);
  operation.sequence = numbered.sequence;
  operation.fingerprint = numbered.fingerprint;
  if (trace::Recorder* const trace = tracing_.recorder())
    operation.traced = trace->begin({.prepared = prepared}, numbered.sequence);
}

std::shared_ptr<Operation> CommunicatorState::submit(const Message& message, const void* input,
                                                     void* output) {
  lifetime_.require_usable();
  if (message.peer == rank()) return submit_to_self(message, input, output);
  return submit_to_peer(message, input, output, false);
}

std::shared_ptr<Operation> CommunicatorState::submit_to_peer(const Message& message,
                                                             const void* input, void* output,
                                                             bool is_part) {
  const Numbering::Numbered numbered = numbering_.number(message);
  std::shared_ptr<Operation> operation = operations_.take();
  operation->start(plans_.of(message), input, output);
  operation->point_to_point_peer = message.peer;
  operation->sends = message.sends;
  operation->is_part = is_part;
  operation->sequence = numbered.sequence;
  operation->fingerprint = numbered.fingerprint;
  if (trace::Recorder* const trace = tracing_.recorder()) {
    operation->traced = trace->begin(
        {.prepared = operation->prepared, .peer = message.peer, .sends = message.sends},
        numbered.sequence);
  }
  engine_.submit(operation.get());
  return operation;
}

std::shared_ptr<Operation> CommunicatorState::submit(const Exchange& exchange) {
  lifetime_.require_usable();
  // Touched with the progress lock held, as messages end.
  struct Parts {
    std::shared_ptr<Operation> whole = std::make_shared<Operation>();
    std::uint64_t sequence = 0;
    std::size_t under_way = 1;  // this function
    std::exception_ptr failure{};
  };
  const auto parts = std::make_shared<Parts>();
  const auto end_one = [this, parts](const std::exception_ptr& failure) {
    if (!parts->failure) parts->failure = failure;
    if (--parts->under_way > 0) return;
    if (!parts->failure) control_->calls().complete_apart(parts->sequence);
    parts->whole->finish(parts->failure);
  };
  parts->whole->reopen();
  bool all_begun = false;
  // After a failure half way no part goes on: the caller has the buffers back.
  lifetime_.guarded([&] {
    parts->sequence = number(exchange);
    begin_messages(exchange, rank(), [&](const PairMessage& each) {
      Operation* const part = submit_to_peer(each.message, each.input, each.output, true).get();
      part->when_complete([part, end_one] { end_one(part->error); });
      ++parts->under_way;  // none ends before the engine looks at it
    });
    all_begun = true;
  });
  end_one(all_begun ? nullptr : std::make_exception_ptr(control_->failure()));
  return parts->whole;
}

std::shared_ptr<Operation> CommunicatorState::submit_to_self(const Message& message,
                                                             const void* input, void* output) {
  std::shared_ptr<Operation> operation = operations_.take();
  operation->start(plans_.of(message), input, output);
  operation->point_to_point_peer = rank();
  operation->sends = message.sends;
  if (to_self_.join(operation, rank())) progress_.note_move();
  return operation;
}

void CommunicatorState::call(const Call& call, const void* input, void* output, Counts counts) {
  Lock lock(progress_);
  begin(call, input, output, operations_.blocking(), counts);
  complete_blocking();
}

void CommunicatorState::call_ragged(const Call& asked, const void* input, void* output,
                                    Counts counts) {
  Lock lock(progress_);
  lifetime_.require_usable();
  begin(plans_.of_ragged(asked, counts), input, output, operations_.blocking());
  complete_blocking();
}

void CommunicatorState::complete_blocking() {
  Operation& blocking = operations_.blocking();
  progress_.complete(blocking);
  if (blocking.error) std::rethrow_exception(blocking.error);
}

void CommunicatorState::call(const Message& message, const void* input, void* output) {
  Lock lock(progress_);
  const std::shared_ptr<Operation> operation = submit(message, input, output);
  if (message.peer == rank() && !operation->is_done()) {
    to_self_.withdraw();
    throw Error(ErrorCode::invalid_usage,
                "a blocking send or recv between this rank and itself waits for ever",
                {.rank = rank(),
                 .peer = rank(),
                 .call = to_string(message.call),
                 .remedy = std::string(remedies::group_of_messages.words)});
  }
  progress_.drive(*operation);
  if (operation->error) std::rethrow_exception(operation->error);
}

/// Runs `begin`, which begins an operation.
template <class Begin>
std::shared_ptr<Operation> CommunicatorState::start_by(Begin begin, bool deferred) {
  // First, as nothing may be under way when it fails: the lock's end wakes the thread.
  if (!deferred) progress_.carry_on_in_background();
  Lock lock(progress_);
  std::shared_ptr<Operation> operation = begin();
  progress_.look();  // what can be sent at once is sent at once
  return operation;
}

std::shared_ptr<Operation> CommunicatorState::start(const Call& call, const void* input,
                                                    void* output, bool deferred, Counts counts) {
  return start_by(
      [&] {
        std::shared_ptr<Operation> operation = operations_.take();
        begin(call, input, output, *operation, counts);
        engine_.submit(operation.get());
        return operation;
      },
      deferred);
}

std::shared_ptr<Operation> CommunicatorState::start(const Message& message, const void* input,
                                                    void* output, bool deferred) {
  return start_by([&] { return submit(message, input, output); }, deferred);
}

std::shared_ptr<Operation> CommunicatorState::start(const Exchange& exchange, bool deferred) {
  return start_by([&] { return submit(exchange); }, deferred);
}

/// Like submit() and drive(), but no other thread waits for the messages: they need no notices.
void CommunicatorState::call(const Exchange& exchange) {
  Lock lock(progress_);
  lifetime_.require_usable();
  const std::size_t most_bytes = std::min(short_block_bytes, connections_.frame_bytes());
  if (engine_.takes_short_messages() && shorten(exchange, rank(), most_bytes, *short_exchange_))
    return call_short(exchange);
  std::vector<std::shared_ptr<Operation>> parts;
  parts.reserve(2 * exchange.sent.counts.size());
  std::uint64_t sequence = 0;
  lifetime_.guarded([&] {
    sequence = number(exchange);
    begin_messages(exchange, rank(), [&](const PairMessage& each) {
      parts.push_back(submit_to_peer(each.message, each.input, each.output, true));
    });
  });
  for (const auto& part : parts) progress_.drive(*part);
  for (const auto& part : parts) {
    if (part->error) std::rethrow_exception(part->error);
  }
  lifetime_.require_usable();  // throws what failed before there was a part
  control_->calls().complete_apart(sequence);
}

/// `exchange` is the one that `short_exchange_` was made from.
void CommunicatorState::call_short(const Exchange& exchange) {
  for (ShortOp& op : short_exchange_->short_ops) {
    const bool sends = op.out_peer >= 0;
    const int peer = sends ? op.out_peer : short_exchange_->short_sources[op.first_source].peer;
    if (peer < 0) continue;
    const Call call = message_between(op.elements, exchange.type);
    op.fingerprint = numbering_.number(Message{call, peer, sends}).fingerprint;
  }
  Operation& operation = operations_.blocking();
  operation.start(short_exchange_, exchange.input, exchange.output);
  operation.sequence = number(exchange);
  complete_blocking();
}

}  // namespace rondo::detail
