#include "core/nccl/calls.h"

#include <utility>

#include "core/communicator/arguments.h"
#include "core/nccl/handles.h"
#include "core/nccl/settings.h"

namespace rondo::nccl {
namespace {

Operation operation_of(const Arguments& given, const Call& call) {
  return {{.request = {.call = call,
                       .input = given.input,
                       .output = given.output,
                       .stream = given.stream}},
          member_of(given.comm)};
}

Operation moving(const Arguments& given, Collective collective, int root = 0) {
  read_call_settings(given.config);  // there is nothing that they could change
  return operation_of(
      given,
      {.count = given.count, .collective = collective, .type = type_of(given.type), .root = root});
}

Operation combining(const Arguments& given, Collective collective, ncclRedOp_t op, int root) {
  const CallSettings settings = read_call_settings(given.config);
  const DataType type = type_of(given.type);
  Operation operation = operation_of(given, {});
  Operator found = operation.member->operators().find(op, type);
  Reduction how = found.op;
  how.accumulate = settings.accumulate;
  how.reproducible = settings.reproducible;
  stream::Request& request = operation.request;
  request.call = reducing_call(collective, given.count, type, how, root);
  if (found.factor == nullptr) return operation;
  request.scalar = found.factor->scalar();
  request.scalar_later = found.factor->is_read_later();
  request.scale = [factor = std::move(found.factor)](void* output, const void* input,
                                                     std::size_t count, const void* scalar) {
    factor->apply(output, input, count, scalar);
  };
  return operation;
}

ncclResult_t issue_ragged(Operation operation, const std::size_t* counts) {
  const detail::CommunicatorState& state = operation.member->state();
  require(counts, "counts");
  const Counts all(counts, static_cast<std::size_t>(state.size()));
  stream::Request& request = operation.request;
  const Shaped shaped = detail::checked_shape(request.call, all, state.rank(), state.size());
  request.call = shaped.call;
  request.counts.assign(shaped.counts.begin(), shaped.counts.end());
  return issue(std::move(operation));
}

}  // namespace

ncclResult_t move(const Arguments& given, Collective collective, int root) {
  return guarded_in_group(given.function, [&] { return issue(moving(given, collective, root)); });
}

ncclResult_t combine(const Arguments& given, Collective collective, ncclRedOp_t op, int root) {
  return guarded_in_group(given.function,
                          [&] { return issue(combining(given, collective, op, root)); });
}

ncclResult_t move_ragged(const Arguments& given, Collective collective, const std::size_t* counts,
                         int root) {
  return guarded_in_group(given.function,
                          [&] { return issue_ragged(moving(given, collective, root), counts); });
}

ncclResult_t combine_ragged(const Arguments& given, Collective collective,
                            const std::size_t* counts, ncclRedOp_t op) {
  return guarded_in_group(
      given.function, [&] { return issue_ragged(combining(given, collective, op, 0), counts); });
}

ncclResult_t pass(const Arguments& given, bool sends, int peer) {
  return guarded_in_group(given.function, [&] {
    Operation operation = moving(given, Collective::send_recv);
    operation.request.peer = peer;
    operation.request.sends = sends;
    return issue(std::move(operation));
  });
}

}  // namespace rondo::nccl
