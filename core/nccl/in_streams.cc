#include "core/nccl/in_streams.h"

#include <algorithm>
#include <utility>

#include "core/nccl/memory.h"
#include "core/stream/together.h"

namespace rondo::nccl {
namespace {

/// What a group asks of one communicator's streams.
struct Asked {
  Member* member;
  cudaStream_t stream;
  std::vector<stream::Request> requests{};
};

Asked* find(std::vector<Asked>& all, const Member* member) {
  const auto found = std::ranges::find(all, member, &Asked::member);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool is_captured(cudaStream_t stream) {
  int status = 0;
  const cuda::Driver* const driver = cuda::find_driver();
  if (driver == nullptr || driver->stream_get_capture_info == nullptr) return false;
  const int asked =
      driver->stream_get_capture_info(stream, &status, nullptr, nullptr, nullptr, nullptr);
  return asked == cuda::success && status == cuda::capture_active;
}

bool needs_stream_order(const Operation& operation) {
  if (cuda::find_driver() == nullptr) return false;
  if (is_captured(operation.stream)) return true;
  // Without data, only the order counts: there is one where the communicator has streams.
  if (operation.call.count == 0) return operation.member->streamed().has_through_host();
  if (operation.where.input.on_device || operation.where.output.on_device) return true;
  return operation.factor != nullptr && cuda::is_device_memory(operation.factor->scalar());
}

stream::Request request_of(const Operation& operation) {
  stream::Request request{.call = operation.member->share()->resolved(operation.call),
                          .counts = operation.counts,
                          .input = operation.input,
                          .output = operation.output,
                          .where = operation.where,
                          .peer = operation.peer,
                          .sends = operation.sends,
                          .stream = operation.stream};
  if (operation.factor != nullptr) {
    request.scalar = operation.factor->scalar();
    request.scalar_later = operation.factor->is_read_later();
    request.scale = [factor = operation.factor](void* data, std::size_t count, const void* scalar) {
      factor->apply(data, data, count, scalar);
    };
  }
  return request;
}

void wait_for_stream(const Operation& operation) {
  operation.member->streamed().finish();
  if (operation.call.count > 0) finish_stream(operation.stream);
}

std::vector<const Operation*> put_into_streams(std::span<const Operation> operations,
                                               std::span<const Member* const> members,
                                               FirstFailure& failure) {
  std::vector<Asked> all;
  for (const Operation& operation : operations) {
    if (find(all, operation.member.get()) != nullptr) continue;
    if (!std::ranges::count(members, operation.member.get()) && !needs_stream_order(operation))
      continue;
    all.push_back({.member = operation.member.get(), .stream = operation.stream});
  }
  std::vector<const Operation*> others;
  for (const Operation& operation : operations) {
    if (Asked* const asked = find(all, operation.member.get())) {
      asked->requests.push_back(request_of(operation));
    } else {
      others.push_back(&operation);
    }
  }
  std::vector<stream::Together> together;
  for (Asked& each : all) {
    failure.watch([&] {
      each.member->state();
      together.push_back(
          {each.member->streamed().through_host(each.stream).get(), std::move(each.requests)});
    });
  }
  stream::put_together(together);
  for (const stream::Together& each : together) failure.keep(each.failure);
  return others;
}

}  // namespace rondo::nccl
