// rondo.h's Communicator and Work: checks arguments, fills in a Call, hands it on.
#include "core/communicator/access.h"
#include "core/communicator/arguments.h"
#include "core/communicator/exchange.h"

namespace rondo {
namespace detail {

CommunicatorState& usable(const std::shared_ptr<CommunicatorState>& state) {
  if (state) return *state;
  throw Error(
      ErrorCode::invalid_usage, "this Communicator handle is empty",
      {.remedy = "make one with from_environment(), or test the handle that split() returned"});
}

}  // namespace detail
namespace {

using detail::CommunicatorAccess;
using detail::CommunicatorState;
using detail::Exchange;
using detail::Message;
using detail::usable;
using State = std::shared_ptr<CommunicatorState>;

void check(const State& state, const Message& message, const void* input, const void* output) {
  const CommunicatorState& communicator = usable(state);
  detail::check_message(message.call, message.sends ? input : output, message.peer,
                        communicator.rank(), communicator.size(), true);
}

/// In a group the call joins the group and returns; otherwise it completes.
void run(const State& state, const Call& call, const void* input, void* output,
         Counts counts = {}) {
  CommunicatorState& communicator = usable(state);
  if (detail::in_group()) {
    detail::add_to_group(
        CommunicatorAccess::make(state, communicator.start(call, input, output, true, counts)));
  } else {
    communicator.call(call, input, output, counts);
  }
}

Work start(const State& state, const Call& call, const void* input, void* output,
           Counts counts = {}) {
  return CommunicatorAccess::make(state, usable(state).start(call, input, output, false, counts));
}

/// `call` with blocks of these counts.
Shaped shaped(const State& state, const Call& call, Counts counts) {
  const CommunicatorState& communicator = usable(state);
  return detail::checked_shape(call, counts, communicator.rank(), communicator.size());
}

void run_ragged(const State& state, const Call& call, const void* input, void* output,
                Counts counts) {
  if (!detail::in_group()) return usable(state).call_ragged(call, input, output, counts);
  const Shaped shape = shaped(state, call, counts);
  run(state, shape.call, input, output, shape.counts);
}

Work start_ragged(const State& state, const Call& call, const void* input, void* output,
                  Counts counts) {
  const Shaped shape = shaped(state, call, counts);
  return start(state, shape.call, input, output, shape.counts);
}

void check(const State& state, const Exchange& exchange) {
  const CommunicatorState& communicator = usable(state);
  detail::check_exchange(exchange, communicator.rank(), communicator.size(), true);
}

void run(const State& state, const Exchange& exchange) {
  check(state, exchange);
  if (detail::in_group()) {
    detail::add_to_group(CommunicatorAccess::make(state, state->start(exchange, true)));
  } else {
    state->call(exchange);
  }
}

void run(const State& state, const Message& message, const void* input, void* output) {
  check(state, message, input, output);
  if (detail::in_group()) {
    detail::add_to_group(
        CommunicatorAccess::make(state, state->start(message, input, output, true)));
  } else {
    state->call(message, input, output);
  }
}

Work start(const State& state, const Message& message, const void* input, void* output) {
  check(state, message, input, output);
  return CommunicatorAccess::make(state, state->start(message, input, output, false));
}

Call moving(Collective collective, std::size_t count, DataType type, int root = 0) {
  return {.count = count, .collective = collective, .type = type, .root = root};
}

Message message(bool sends, std::size_t count, DataType type, int peer) {
  return {moving(Collective::send_recv, count, type), peer, sends};
}

const Call barrier_call{.collective = Collective::barrier};

}  // namespace

bool Work::test() { return !state_ || state_->progress().test(*operation_); }

void Work::wait() {
  if (state_) state_->progress().wait(*operation_);
}

void Work::when_complete(std::function<void()> notice) {
  if (!notice)
    throw Error(ErrorCode::invalid_argument, "the notice is an empty function",
                {.call = "when_complete", .remedy = "pass a function to call"});
  if (state_) return operation_->when_complete(std::move(notice));
  notice();
}

Communicator::Communicator(std::shared_ptr<detail::CommunicatorState> state)
    : state_(std::move(state)) {}

Agreed Communicator::agree(std::uint64_t flags) { return usable(state_).agree(flags); }
Communicator Communicator::shrink() { return CommunicatorAccess::make(usable(state_).shrink()); }
Communicator Communicator::grow(int ranks, const std::optional<UniqueId>& id) {
  return CommunicatorAccess::make(usable(state_).grow(ranks, id));
}

int Communicator::rank() const { return usable(state_).rank(); }
int Communicator::size() const { return usable(state_).size(); }

Communicator Communicator::split(int color, int key) {
  return Communicator(usable(state_).split(color, key));
}
Communicator Communicator::dup() { return split(0, rank()); }

void Communicator::abort(const std::string& reason) noexcept {
  if (state_) state_->abort(reason);
}

void Communicator::set_timeout(std::chrono::milliseconds timeout) {
  usable(state_).set_timeout(timeout);
}

void Communicator::finalize() {
  if (state_) state_->finalize();
}

void Communicator::all_reduce(const void* input, void* output, std::size_t count, DataType type,
                              const Reduction& how) {
  run(state_, reducing_call(Collective::all_reduce, count, type, how), input, output);
}

void Communicator::reduce_scatter(const void* input, void* output, std::size_t count, DataType type,
                                  const Reduction& how) {
  run(state_, reducing_call(Collective::reduce_scatter, count, type, how), input, output);
}

void Communicator::all_gather(const void* input, void* output, std::size_t count, DataType type) {
  run(state_, moving(Collective::all_gather, count, type), input, output);
}

void Communicator::broadcast(const void* input, void* output, std::size_t count, DataType type,
                             int root) {
  run(state_, moving(Collective::broadcast, count, type, root), input, output);
}

void Communicator::reduce(const void* input, void* output, std::size_t count, DataType type,
                          const Reduction& how, int root) {
  run(state_, reducing_call(Collective::reduce, count, type, how, root), input, output);
}

void Communicator::scan(const void* input, void* output, std::size_t count, DataType type,
                        const Reduction& how) {
  run(state_, reducing_call(Collective::scan, count, type, how), input, output);
}

void Communicator::exclusive_scan(const void* input, void* output, std::size_t count, DataType type,
                                  const Reduction& how) {
  run(state_, reducing_call(Collective::exclusive_scan, count, type, how), input, output);
}

void Communicator::all_to_all(const void* input, void* output, std::size_t count, DataType type) {
  run(state_, moving(Collective::all_to_all, count, type), input, output);
}

void Communicator::scatter(const void* input, void* output, std::size_t count, DataType type,
                           int root) {
  run(state_, moving(Collective::scatter, count, type, root), input, output);
}

void Communicator::gather(const void* input, void* output, std::size_t count, DataType type,
                          int root) {
  run(state_, moving(Collective::gather, count, type, root), input, output);
}

void Communicator::all_reduce(const void* input, void* output, std::size_t count,
                              const Operator& own) {
  run(state_, reducing_call(Collective::all_reduce, count, own), input, output);
}

Work Communicator::all_reduce_async(const void* input, void* output, std::size_t count,
                                    const Operator& own) {
  return start(state_, reducing_call(Collective::all_reduce, count, own), input, output);
}

void Communicator::reduce_scatter(const void* input, void* output, std::size_t count,
                                  const Operator& own) {
  run(state_, reducing_call(Collective::reduce_scatter, count, own), input, output);
}

Work Communicator::reduce_scatter_async(const void* input, void* output, std::size_t count,
                                        const Operator& own) {
  return start(state_, reducing_call(Collective::reduce_scatter, count, own), input, output);
}

void Communicator::reduce(const void* input, void* output, std::size_t count, const Operator& own,
                          int root) {
  run(state_, reducing_call(Collective::reduce, count, own, root), input, output);
}

Work Communicator::reduce_async(const void* input, void* output, std::size_t count,
                                const Operator& own, int root) {
  return start(state_, reducing_call(Collective::reduce, count, own, root), input, output);
}

void Communicator::scan(const void* input, void* output, std::size_t count, const Operator& own) {
  run(state_, reducing_call(Collective::scan, count, own), input, output);
}

Work Communicator::scan_async(const void* input, void* output, std::size_t count,
                              const Operator& own) {
  return start(state_, reducing_call(Collective::scan, count, own), input, output);
}

void Communicator::exclusive_scan(const void* input, void* output, std::size_t count,
                                  const Operator& own) {
  run(state_, reducing_call(Collective::exclusive_scan, count, own), input, output);
}

Work Communicator::exclusive_scan_async(const void* input, void* output, std::size_t count,
                                        const Operator& own) {
  return start(state_, reducing_call(Collective::exclusive_scan, count, own), input, output);
}

void Communicator::all_gather_v(const void* input, void* output,
                                std::span<const std::size_t> counts, DataType type) {
  run_ragged(state_, moving(Collective::all_gather, 0, type), input, output, counts);
}

void Communicator::reduce_scatter_v(const void* input, void* output,
                                    std::span<const std::size_t> counts, DataType type,
                                    const Reduction& how) {
  run_ragged(state_, reducing_call(Collective::reduce_scatter, 0, type, how), input, output,
             counts);
}

void Communicator::gather_v(const void* input, void* output, std::span<const std::size_t> counts,
                            DataType type, int root) {
  run_ragged(state_, moving(Collective::gather, 0, type, root), input, output, counts);
}

void Communicator::scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                             DataType type, int root) {
  run_ragged(state_, moving(Collective::scatter, 0, type, root), input, output, counts);
}

void Communicator::all_to_all_v(const void* input, const Blocks& sent, void* output,
                                const Blocks& received, DataType type) {
  run(state_, Exchange{input, output, type, sent, received});
}

void Communicator::barrier() { run(state_, barrier_call, nullptr, nullptr); }

void Communicator::send(const void* buffer, std::size_t count, DataType type, int peer) {
  run(state_, message(true, count, type, peer), buffer, nullptr);
}

void Communicator::recv(void* buffer, std::size_t count, DataType type, int peer) {
  run(state_, message(false, count, type, peer), nullptr, buffer);
}

Work Communicator::all_reduce_async(const void* input, void* output, std::size_t count,
                                    DataType type, const Reduction& how) {
  return start(state_, reducing_call(Collective::all_reduce, count, type, how), input, output);
}

Work Communicator::reduce_scatter_async(const void* input, void* output, std::size_t count,
                                        DataType type, const Reduction& how) {
  return start(state_, reducing_call(Collective::reduce_scatter, count, type, how), input, output);
}

Work Communicator::all_gather_async(const void* input, void* output, std::size_t count,
                                    DataType type) {
  return start(state_, moving(Collective::all_gather, count, type), input, output);
}

Work Communicator::broadcast_async(const void* input, void* output, std::size_t count,
                                   DataType type, int root) {
  return start(state_, moving(Collective::broadcast, count, type, root), input, output);
}

Work Communicator::reduce_async(const void* input, void* output, std::size_t count, DataType type,
                                const Reduction& how, int root) {
  return start(state_, reducing_call(Collective::reduce, count, type, how, root), input, output);
}

Work Communicator::scan_async(const void* input, void* output, std::size_t count, DataType type,
                              const Reduction& how) {
  return start(state_, reducing_call(Collective::scan, count, type, how), input, output);
}

Work Communicator::exclusive_scan_async(const void* input, void* output, std::size_t count,
                                        DataType type, const Reduction& how) {
  return start(state_, reducing_call(Collective::exclusive_scan, count, type, how), input, output);
}

Work Communicator::all_to_all_async(const void* input, void* output, std::size_t count,
                                    DataType type) {
  return start(state_, moving(Collective::all_to_all, count, type), input, output);
}

Work Communicator::scatter_async(const void* input, void* output, std::size_t count, DataType type,
                                 int root) {
  return start(state_, moving(Collective::scatter, count, type, root), input, output);
}

Work Communicator::gather_async(const void* input, void* output, std::size_t count, DataType type,
                                int root) {
  return start(state_, moving(Collective::gather, count, type, root), input, output);
}

Work Communicator::all_gather_v_async(const void* input, void* output,
                                      std::span<const std::size_t> counts, DataType type) {
  return start_ragged(state_, moving(Collective::all_gather, 0, type), input, output, counts);
}

Work Communicator::reduce_scatter_v_async(const void* input, void* output,
                                          std::span<const std::size_t> counts, DataType type,
                                          const Reduction& how) {
  return start_ragged(state_, reducing_call(Collective::reduce_scatter, 0, type, how), input,
                      output, counts);
}

Work Communicator::gather_v_async(const void* input, void* output,
                                  std::span<const std::size_t> counts, DataType type, int root) {
  return start_ragged(state_, moving(Collective::gather, 0, type, root), input, output, counts);
}

Work Communicator::scatter_v_async(const void* input, void* output,
                                   std::span<const std::size_t> counts, DataType type, int root) {
  return start_ragged(state_, moving(Collective::scatter, 0, type, root), input, output, counts);
}

Work Communicator::all_to_all_v_async(const void* input, const Blocks& sent, void* output,
                                      const Blocks& received, DataType type) {
  const Exchange exchange{input, output, type, sent, received};
  check(state_, exchange);
  return CommunicatorAccess::make(state_, state_->start(exchange, false));
}

Work Communicator::barrier_async() { return start(state_, barrier_call, nullptr, nullptr); }

Work Communicator::send_async(const void* buffer, std::size_t count, DataType type, int peer) {
  return start(state_, message(true, count, type, peer), buffer, nullptr);
}

Work Communicator::recv_async(void* buffer, std::size_t count, DataType type, int peer) {
  return start(state_, message(false, count, type, peer), nullptr, buffer);
}

std::string Communicator::describe(Collective collective, std::size_t count, DataType type,
                                   const Reduction& how, int root) const {
  if (static_cast<std::size_t>(collective) >= collectives.size())
    throw Error(ErrorCode::invalid_argument,
                "unknown collective " + std::to_string(static_cast<int>(collective)),
                {.call = "describe", .remedy = "use a rondo::Collective"});
  return usable(state_).describe(reducing_call(collective, count, type, how, root));
}

Traffic Communicator::traffic() const { return usable(state_).traffic(); }

}  // namespace rondo
