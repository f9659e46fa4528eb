// Making calls: numbering, pooling, submitting.
#include <cstring>

#include "core/communicator/arguments.h"
#include "core/communicator/turn.h"

namespace rondo::detail {
namespace {

/// Whether these buffers are missing or overlap: then they are in place, or an error. One buffer
/// for a whole vector, as in most in-place calls, needs no closer look.
bool wants_check(const PreparedCall& prepared, const void* input, const void* output) {
  if (input == output && input != nullptr && is_vector(prepared.call.collective)) return false;
  const std::size_t in_bytes = prepared.input_elements * prepared.element_bytes;
  const std::size_t out_bytes = prepared.output_elements * prepared.element_bytes;
  if (in_bytes == 0 || out_bytes == 0 || input == nullptr || output == nullptr) return true;
  const auto in = reinterpret_cast<std::uintptr_t>(input);
  const auto out = reinterpret_cast<std::uintptr_t>(output);
  return in < out + out_bytes && out < in + in_bytes;
}

}  // namespace

std::shared_ptr<Operation> CommunicatorState::take_operation() {
  for (std::size_t tried = 0; tried < operations_.size(); ++tried) {
    next_operation_ = next_operation_ + 1 < operations_.size() ? next_operation_ + 1 : 0;
    const std::shared_ptr<Operation>& candidate = operations_[next_operation_];
    if (candidate.use_count() == 1 && candidate->is_done()) return candidate;
  }
  operations_.push_back(std::make_shared<Operation>());
  return operations_.back();
}

void CommunicatorState::begin(const Call& call, const void* input, void* output,
                              Operation& operation) {
  require_usable();
  const Prepared& prepared = lookup(call);
  if (wants_check(*prepared, input, output)) check_call(call, input, output, rank(), size());
  Call numbered = call;
  numbered.sequence = ++sequence_;
  line_->calls().begin(numbered);
  operation.start(prepared, input, output);
  operation.sequence = numbered.sequence;
  operation.fingerprint = fingerprint(numbered);
  operation.history = history_;
  history_ = history_ * 0x9e3779b97f4a7c15ULL + operation.fingerprint;
  if (trace_) operation.traced = trace_->begin({.prepared = prepared}, numbered.sequence);
}

std::shared_ptr<Operation> CommunicatorState::submit(const Message& message, const void* input,
                                                     void* output) {
  require_usable();
  if (message.peer == rank()) return submit_to_self(message, input, output);
  Call numbered = message.call;
  numbered.sequence = ++(message.sends ? sent_ : received_)[static_cast<std::size_t>(message.peer)];
  std::shared_ptr<Operation> operation = take_operation();
  operation->start(lookup(message), input, output);
  operation->point_to_point_peer = message.peer;
  operation->sends = message.sends;
  operation->sequence = numbered.sequence;
  operation->fingerprint = fingerprint(numbered);
  if (trace_) {
    operation->traced = trace_->begin(
        {.prepared = operation->prepared, .peer = message.peer, .sends = message.sends},
        numbered.sequence);
  }
  engine_->submit(operation.get());
  return operation;
}

std::shared_ptr<Operation> CommunicatorState::submit_to_self(const Message& message,
                                                             const void* input, void* output) {
  std::shared_ptr<Operation> operation = take_operation();
  operation->start(lookup(message), input, output);
  operation->point_to_point_peer = rank();
  operation->sends = message.sends;
  const Call& call = message.call;
  for (auto other = to_self_.begin(); other != to_self_.end(); ++other) {
    Operation& waiting = **other;
    if (waiting.sends == message.sends) continue;
    if (waiting.prepared->call.count != call.count || waiting.prepared->call.type != call.type) {
      operation->finish();
      throw Error(ErrorCode::mismatch,
                  "a send to this very rank and its recv differ in count or type",
                  {.rank = rank(), .peer = rank(), .call = to_string(call)});
    }
    const void* from = message.sends ? input : waiting.input;
    void* to = message.sends ? static_cast<void*>(waiting.output) : output;
    if (call.count > 0) std::memcpy(to, from, call.count * size_of(call.type));
    waiting.finish();
    operation->finish();
    to_self_.erase(other);
    return operation;
  }
  to_self_.push_back(operation);
  return operation;
}

void CommunicatorState::call(const Call& call, const void* input, void* output) {
  Turn turn(*this);
  begin(call, input, output, blocking_);
  complete(blocking_);
  if (blocking_.error) std::rethrow_exception(blocking_.error);
}

void CommunicatorState::call(const Message& message, const void* input, void* output) {
  Turn turn(*this);
  const std::shared_ptr<Operation> operation = submit(message, input, output);
  if (message.peer == rank() && !operation->is_done()) {
    to_self_.pop_back();
    operation->finish();
    throw Error(ErrorCode::invalid_usage,
                "a blocking send or recv with this very rank waits for ever",
                {.rank = rank(),
                 .peer = rank(),
                 .call = to_string(message.call),
                 .remedy = "put the send and the recv in a rondo::Group, or use the _async forms"});
  }
  drive(*operation);
  if (operation->error) std::rethrow_exception(operation->error);
}

std::shared_ptr<Operation> CommunicatorState::start(const Call& call, const void* input,
                                                    void* output, bool deferred) {
  std::shared_ptr<Operation> operation;
  {
    Turn turn(*this);
    operation = take_operation();
    begin(call, input, output, *operation);
    engine_->submit(operation.get());
    look();  // what can be sent at once is sent at once
  }
  if (!deferred) carry_on_in_background();
  return operation;
}

std::shared_ptr<Operation> CommunicatorState::start(const Message& message, const void* input,
                                                    void* output, bool deferred) {
  std::shared_ptr<Operation> operation;
  {
    Turn turn(*this);
    operation = submit(message, input, output);
    look();  // what can be sent at once is sent at once
  }
  if (!deferred) carry_on_in_background();
  return operation;
}

}  // namespace rondo::detail
