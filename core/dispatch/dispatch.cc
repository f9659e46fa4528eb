#include "core/dispatch/dispatch.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/resident/form.h"

namespace rondo::dispatch {
namespace {

/// Also for a call that cannot be made: who puts it there says why.
bool is_served(const direct_device::DeviceCalls* device, const stream::Request& request) {
  try {
    return device != nullptr && device->serves(request);
  } catch (const Error&) {
    return true;
  }
}

/// The ranks whose calls need stream order and do not go from device to device.
std::set<const RankCalls*> ranks_through_host(AskedSpan group) {
  std::set<const RankCalls*> ranks;
  for (const Asked* const asked : group) {
    if (is_served(asked->calls->between_devices(), asked->request)) continue;
    if (needs_stream_order(*asked)) ranks.insert(asked->calls);
  }
  return ranks;
}

/// One rank says once what a name costs.
void warn_of_name(const Asked& asked) {
  const direct_device::DeviceCalls* const device = asked.calls->between_devices();
  const int rank = asked.calls->state()->rank();
  if (rank != 0 || device == nullptr || !device->leaves_for_name(asked.request)) return;
  if (asked.calls->was_warned()) return;
  log(LogLevel::warn, rank,
      std::string(name(asked.request.call.collective)) +
          " goes through the host's memory: GPUs cannot follow the algorithm here that "
          "RONDO_ALGORITHM, NCCL_ALGO or a schedule of yours asks for; others are faster");
}

/// What a group asks of one rank's calls through the host.
struct ThroughHost {
  RankCalls* rank;
  cuda::Stream stream;
  std::vector<stream::Request> requests{};
  stream::StreamCalls* calls = nullptr;  ///< null: not made yet, or one of them has failed
};

/// Puts all of them into their streams. First it takes memory for all, as taking some may wait for a
/// device, and the device for a call that the calling thread has yet to make. Then it goes slice by
/// slice in turn. Where a driver's queue is full, what it waits for is in the others' already,
/// whatever their room. So communicators may even share a stream.
void put_all(std::vector<ThroughHost>& all, FirstFailure& failure) {
  const auto each = [&](const auto& body) {
    for (ThroughHost& one : all) {
      stream::StreamCalls* const calls = std::exchange(one.calls, nullptr);
      if (calls == nullptr) continue;
      failure.watch([&] {
        body(*calls, one.requests);
        one.calls = calls;
      });
    }
  };
  using stream::StreamCalls;
  using Requests = std::vector<stream::Request>;
  each([](StreamCalls& calls, const Requests& requests) { calls.prepare(requests); });
  each([](StreamCalls& calls, Requests& requests) { calls.begin(std::move(requests)); });
  for (bool moved = true; moved;) {
    moved = false;
    each([&](StreamCalls& calls, const Requests&) { moved |= calls.go_on(); });
  }
  each([](StreamCalls& calls, const Requests&) { calls.end(); });
}

/// Puts those that need it into their streams through the host, and with each of them all others of
/// the same rank, and those of `ranks`. Returns the rest.
AskedList put_through_host(AskedSpan group, const std::set<const RankCalls*>& ranks,
                           FirstFailure& failure) {
  std::vector<ThroughHost> all;
  const auto find = [&](const Asked* asked) {
    return std::ranges::find(all, asked->calls, &ThroughHost::rank);
  };
  for (const Asked* const asked : group) {
    if (find(asked) != all.end()) continue;
    if (ranks.contains(asked->calls) || needs_stream_order(*asked))
      all.push_back({.rank = asked->calls, .stream = asked->request.stream});
  }
  AskedList others;
  for (const Asked* const asked : group) {
    const auto found = find(asked);
    if (found != all.end()) {
      failure.watch([&] {  // what is named may leave no algorithm
        warn_of_name(*asked);
        found->requests.push_back(asked->request);
      });
    } else {
      others.push_back(asked);
    }
  }
  for (ThroughHost& each : all) {
    if (each.requests.empty()) continue;
    failure.watch([&] { each.calls = each.rank->through_host(each.stream).get(); });
  }
  put_all(all, failure);
  return others;
}

/// Every rank's calls are numbered alike, whatever path they take.
void announce(const Asked& asked) {
  Hierarchy* const hierarchy = asked.calls->hierarchy();
  if (hierarchy != nullptr && !is_message(asked.request)) hierarchy->begin(asked.request);
}

}  // namespace

AskedList put_through_host(AskedSpan group, FirstFailure& failure) {
  return put_through_host(group, {}, failure);
}

bool is_captured(cuda::Stream stream) {
  int status = 0;
  const cuda::Driver* const driver = cuda::find_driver();
  if (driver == nullptr || driver->stream_get_capture_info == nullptr) return false;
  const int asked =
      driver->stream_get_capture_info(stream, &status, nullptr, nullptr, nullptr, nullptr);
  return asked == cuda::success && status == cuda::capture_active;
}

bool needs_stream_order(const Asked& asked) {
  const stream::Request& request = asked.request;
  if (asked.in_order || is_captured(request.stream)) return true;
  // Without data, only the order counts: there is one where the communicator has streams.
  if (request.call.count == 0) return asked.calls->has_through_host();
  if (request.where.input.on_device || request.where.output.on_device) return true;
  return request.scalar != nullptr && cuda::is_device_memory(request.scalar);
}

bool is_named(const Asked& asked) {
  const stream::Request& request = asked.request;
  const State& state = asked.calls->state();
  if (is_message(request) || request.call.count == 0 || state == nullptr) return false;
  return !resident::allows_default(request.call, request.counts, state->topology(),
                                   state->algorithms());
}

bool put_alone(const Asked& asked) {
  const Asked* const alone[] = {&asked};
  if (meet(alone)) return true;
  if (asked.calls->between_devices() != nullptr) {
    FirstFailure failure;
    const bool done = BetweenDevices(alone).put(failure).empty();
    failure.rethrow();
    if (done) return true;
  }
  if (asked.calls->hierarchy() != nullptr) {
    FirstFailure failure;
    const bool done = put_in_steps(alone, failure).empty();
    failure.rethrow();
    if (done) return true;
  }
  if (!needs_stream_order(asked)) return false;
  warn_of_name(asked);
  asked.calls->through_host(asked.request.stream)->enqueue({asked.request});
  return true;
}

Parted part(AskedSpan group) {
  std::set<std::uint64_t> in_streams;
  for (const Asked* const asked : group) {
    if (needs_stream_order(*asked)) in_streams.insert(asked->calls->state()->identity());
  }
  Parted parted;
  for (const Asked* const asked : group) {
    const bool on_host = !in_streams.contains(asked->calls->state()->identity());
    if (on_host) announce(*asked);
    (on_host ? parted.on_host : parted.in_streams).push_back(asked);
  }
  return parted;
}

void put_group(AskedSpan group, FirstFailure& failure) {
  failure.watch([&] {
    if (!meet(group)) put_into_streams(group, failure);
  });
}

AskedList put_into_streams(AskedSpan group, FirstFailure& failure) {
  const AskedList apart = put_in_steps(put_together(group, failure), failure);
  BetweenDevices between_devices(apart);
  std::set<const RankCalls*> through_host;
  AskedList others;
  bool first = true;
  do {
    const AskedList passed_over = between_devices.put(failure);
    // Whether a rank's calls are put into streams is the same in all rounds.
    if (std::exchange(first, false) && between_devices.has_more())
      through_host = ranks_through_host(apart);
    for (const Asked* const each : put_through_host(passed_over, through_host, failure))
      others.push_back(each);
  } while (between_devices.has_more());
  return others;
}

}  // namespace rondo::dispatch
