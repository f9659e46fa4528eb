#include "core/nccl/in_streams.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/nccl/memory.h"

namespace rondo::nccl {
namespace {

bool is_captured(cudaStream_t stream) {
  int status = 0;
  const int asked =
      cuda::driver().stream_get_capture_info(stream, &status, nullptr, nullptr, nullptr, nullptr);
  return asked == cuda::success && status == cuda::capture_active;
}

/// What a group asks of one communicator's streams.
struct Together {
  Member* member;
  cudaStream_t stream;
  std::vector<stream::Request> requests{};
  bool ready = false;
};

Together* find(std::vector<Together>& all, const Member* member) {
  const auto found = std::ranges::find(all, member, &Together::member);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool needs_stream_order(const Operation& operation) {
  if (cuda::find_driver() == nullptr) return false;
  if (is_captured(operation.stream)) return true;
  if (operation.call.count == 0) return false;
  const void* const scalar = operation.factor != nullptr ? operation.factor->scalar() : nullptr;
  return std::ranges::any_of(std::array<const void*, 3>{operation.input, operation.output, scalar},
                             cuda::is_device_memory);
}

stream::Request request_of(const Operation& operation) {
  stream::Request request{.call = operation.call,
                          .input = operation.input,
                          .output = operation.output,
                          .peer = operation.peer,
                          .sends = operation.sends,
                          .stream = operation.stream};
  if (operation.factor != nullptr) {
    request.scalar = operation.factor->scalar();
    request.scale = [factor = operation.factor](void* data, std::size_t count, const void* scalar) {
      factor->apply(data, data, count, scalar);
    };
  }
  return request;
}

void wait_for_stream(const Operation& operation) {
  operation.member->finish_streams();
  finish_stream(operation.stream);
}

std::vector<const Operation*> put_into_streams(std::span<const Operation> operations,
                                               FirstFailure& failure) {
  std::vector<Together> all;
  for (const Operation& operation : operations) {
    if (find(all, operation.member.get()) != nullptr || !needs_stream_order(operation)) continue;
    all.push_back({.member = operation.member.get(), .stream = operation.stream});
  }
  std::vector<const Operation*> others;
  for (const Operation& operation : operations) {
    if (Together* const together = find(all, operation.member.get())) {
      together->requests.push_back(request_of(operation));
    } else {
      others.push_back(&operation);
    }
  }
  // Memory first, for all of them: see StreamCalls::prepare().
  for (Together& each : all) {
    failure.watch([&] {
      each.member->state();
      each.member->streams(each.stream).prepare(each.requests);
      each.ready = true;
    });
  }
  for (Together& each : all) {
    if (!each.ready) continue;
    failure.watch([&] { each.member->streams(each.stream).enqueue(std::move(each.requests)); });
  }
  return others;
}

}  // namespace rondo::nccl
