// rondo/stream.h: checks arguments, fills in a Request, and puts it into its stream or into the
// thread's group.
#include <utility>

#include "core/base/first_failure.h"
#include "core/communicator/access.h"
#include "core/communicator/arguments.h"
#include "core/communicator/exchange.h"
#include "core/dispatch/dispatch.h"
#include "core/dispatch/prepared_calls.h"
#include "core/stream/check_memory.h"
#include "rondo/stream.h"

namespace rondo {
namespace {

using dispatch::PreparedCalls;
using stream::Request;
using SharedCalls = std::shared_ptr<PreparedCalls>;

/// A call that waits for the end of its group.
struct HeldCall : dispatch::Asked {
  SharedCalls owner{};
};

HeldCall hold(Request request, const SharedCalls& owner) {
  return {{.request = std::move(request), .in_order = true}, owner};
}

/// Puts all of them into their streams. Throws the first failure, after all.
void put_group(std::vector<HeldCall> held) {
  dispatch::AskedList group;
  FirstFailure failure;
  for (HeldCall& each : held) {
    failure.watch([&] {
      each.calls = &each.owner->get();
      group.push_back(&each);
    });
  }
  dispatch::put_group(group, failure);
  failure.rethrow();
}

/// The calls of a thread's group.
class GroupInStreams : public detail::GroupPart {
 public:
  void add(HeldCall held) { held_.push_back(std::move(held)); }
  void run() override { put_group(std::exchange(held_, {})); }

 private:
  std::vector<HeldCall> held_{};
};

/// Groups have no other parts than these.
void add_to_group(HeldCall held) {
  std::unique_ptr<detail::GroupPart>& part = detail::part_of_group();
  if (part == nullptr) part = std::make_unique<GroupInStreams>();
  static_cast<GroupInStreams&>(*part).add(std::move(held));
}

SharedCalls make_calls(const Communicator& communicator) {
  if (!communicator) {
    throw Error(
        ErrorCode::invalid_usage, "this Communicator handle is empty",
        {.remedy = "make one with from_environment(), or test the handle that split() gave"});
  }
  const cuda::Context context = cuda::current_context();
  if (context == nullptr) {
    throw Error(ErrorCode::invalid_usage, "no CUDA context is current in this thread",
                {.rank = communicator.rank(),
                 .remedy = "choose a device first: cudaSetDevice(), and cudaFree(nullptr) before a "
                           "runtime of CUDA 12"});
  }
  return std::make_shared<PreparedCalls>(detail::CommunicatorAccess::state(communicator),
                                         cuda::borrowed(context));
}

PreparedCalls& usable(const SharedCalls& calls) {
  if (calls) return *calls;
  throw Error(ErrorCode::invalid_usage, "this StreamCommunicator handle is empty",
              {.remedy = "construct it from a Communicator"});
}

/// Checks the buffers of what check_call() or check_message() let pass.
void check_buffers(const PreparedCalls& calls, Request& request) {
  const detail::CommunicatorState& state = calls.state();
  request.where = stream::check_memory(request, {.rank = state.rank(),
                                                 .ranks = state.size(),
                                                 .context = calls.context().get(),
                                                 .device = calls.device()});
}

/// The requests run together.
void put(const SharedCalls& calls, std::vector<Request> requests) {
  std::vector<HeldCall> held;
  for (Request& request : requests) {
    check_buffers(usable(calls), request);
    held.push_back(hold(std::move(request), calls));
  }
  if (!detail::in_group()) return put_group(std::move(held));
  for (HeldCall& each : held) add_to_group(std::move(each));
}

void put(const SharedCalls& calls, Request request) {
  check_buffers(usable(calls), request);
  if (detail::in_group()) {
    add_to_group(hold(std::move(request), calls));
  } else {
    dispatch::put_alone({.calls = &calls->get(), .request = std::move(request), .in_order = true});
  }
}

}  // namespace

StreamCommunicator::StreamCommunicator(Communicator communicator)
    : communicator_(std::move(communicator)), calls_(make_calls(communicator_)) {}

void StreamCommunicator::call(const Call& call, const void* input, void* output,
                              CudaStream stream) {
  const Call resolved = usable(calls_).state().resolved(call);
  detail::check_call(resolved, input, output, rank(), size());
  put(calls_, {.call = resolved, .input = input, .output = output, .stream = stream});
}

void StreamCommunicator::ragged_call(const Call& call, std::span<const std::size_t> counts,
                                     const void* input, void* output, CudaStream stream) {
  const Call resolved = usable(calls_).state().resolved(call);
  const Shaped shape = detail::checked_shape(resolved, counts, rank(), size());
  detail::check_call(shape.call, input, output, rank(), size(), shape.counts);
  put(calls_, {.call = shape.call,
               .counts = {shape.counts.begin(), shape.counts.end()},
               .input = input,
               .output = output,
               .stream = stream});
}

void StreamCommunicator::pass(bool sends, const void* input, void* output, std::size_t count,
                              DataType type, int peer, CudaStream stream) {
  usable(calls_);
  const Call call{.count = count, .collective = Collective::send_recv, .type = type};
  detail::check_message(call, sends ? input : output, peer, rank(), size());
  put(calls_, {.call = call,
               .input = input,
               .output = output,
               .peer = peer,
               .sends = sends,
               .stream = stream});
}

void StreamCommunicator::all_reduce(const void* input, void* output, std::size_t count,
                                    DataType type, const Reduction& how, CudaStream stream) {
  call(reducing_call(Collective::all_reduce, count, type, how), input, output, stream);
}

void StreamCommunicator::reduce_scatter(const void* input, void* output, std::size_t count,
                                        DataType type, const Reduction& how, CudaStream stream) {
  call(reducing_call(Collective::reduce_scatter, count, type, how), input, output, stream);
}

void StreamCommunicator::all_gather(const void* input, void* output, std::size_t count,
                                    DataType type, CudaStream stream) {
  call({.count = count, .collective = Collective::all_gather, .type = type}, input, output, stream);
}

void StreamCommunicator::broadcast(const void* input, void* output, std::size_t count,
                                   DataType type, int root, CudaStream stream) {
  call({.count = count, .collective = Collective::broadcast, .type = type, .root = root}, input,
       output, stream);
}

void StreamCommunicator::reduce(const void* input, void* output, std::size_t count, DataType type,
                                const Reduction& how, int root, CudaStream stream) {
  call(reducing_call(Collective::reduce, count, type, how, root), input, output, stream);
}

void StreamCommunicator::all_to_all(const void* input, void* output, std::size_t count,
                                    DataType type, CudaStream stream) {
  call({.count = count, .collective = Collective::all_to_all, .type = type}, input, output, stream);
}

void StreamCommunicator::scatter(const void* input, void* output, std::size_t count, DataType type,
                                 int root, CudaStream stream) {
  call({.count = count, .collective = Collective::scatter, .type = type, .root = root}, input,
       output, stream);
}

void StreamCommunicator::gather(const void* input, void* output, std::size_t count, DataType type,
                                int root, CudaStream stream) {
  call({.count = count, .collective = Collective::gather, .type = type, .root = root}, input,
       output, stream);
}

void StreamCommunicator::all_gather_v(const void* input, void* output,
                                      std::span<const std::size_t> counts, DataType type,
                                      CudaStream stream) {
  ragged_call({.collective = Collective::all_gather, .type = type}, counts, input, output, stream);
}

void StreamCommunicator::reduce_scatter_v(const void* input, void* output,
                                          std::span<const std::size_t> counts, DataType type,
                                          const Reduction& how, CudaStream stream) {
  ragged_call(reducing_call(Collective::reduce_scatter, 0, type, how), counts, input, output,
              stream);
}

void StreamCommunicator::gather_v(const void* input, void* output,
                                  std::span<const std::size_t> counts, DataType type, int root,
                                  CudaStream stream) {
  ragged_call({.collective = Collective::gather, .type = type, .root = root}, counts, input, output,
              stream);
}

void StreamCommunicator::scatter_v(const void* input, void* output,
                                   std::span<const std::size_t> counts, DataType type, int root,
                                   CudaStream stream) {
  ragged_call({.collective = Collective::scatter, .type = type, .root = root}, counts, input,
              output, stream);
}

void StreamCommunicator::all_to_all_v(const void* input, const Blocks& sent, void* output,
                                      const Blocks& received, DataType type, CudaStream stream) {
  usable(calls_);
  const detail::Exchange exchange{input, output, type, sent, received};
  detail::check_exchange(exchange, rank(), size());
  std::vector<Request> requests;
  for (const detail::PairMessage& each : detail::messages_of(exchange, rank())) {
    requests.push_back({.call = each.message.call,
                        .input = each.input,
                        .output = each.output,
                        .peer = each.message.peer,
                        .sends = each.message.sends,
                        .stream = stream});
  }
  put(calls_, std::move(requests));
}

void StreamCommunicator::send(const void* buffer, std::size_t count, DataType type, int peer,
                              CudaStream stream) {
  pass(true, buffer, nullptr, count, type, peer, stream);
}

void StreamCommunicator::recv(void* buffer, std::size_t count, DataType type, int peer,
                              CudaStream stream) {
  pass(false, nullptr, buffer, count, type, peer, stream);
}

void StreamCommunicator::check() { usable(calls_).check(); }

void StreamCommunicator::finish() {
  usable(calls_).get().finish();
  check();
}

void StreamCommunicator::finalize() {
  if (usable(calls_).has_left()) return;
  calls_->finish_in_order();
  check();
  communicator_.finalize();
  calls_->leave();
}

}  // namespace rondo
