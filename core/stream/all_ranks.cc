#include "core/stream/all_ranks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/log.h"
#include "core/cuda/links.h"
#include "core/cuda/segments.h"
#include "core/stream/buffers.h"

namespace rondo::stream {
namespace {

/// Whether it comes from cuMemAlloc, which peers reach once they may reach the device; memory of
/// pools and of cuMemCreate have permissions of their own.
bool is_open_to_peers(const void* pointer) {
  const auto address = cuda::address_of(pointer);
  return cuda::pointer_attribute<int>(cuda::attribute_ipc_capable, address).value_or(0) != 0;
}

/// Whether every context has a stream of this name: null and the driver's small numbers.
bool is_of_any_context(cuda::Stream stream) {
  constexpr std::uintptr_t per_thread = 2;  // CU_STREAM_PER_THREAD; CU_STREAM_LEGACY is 1
  return reinterpret_cast<std::uintptr_t>(stream) <= per_thread;
}

bool are_same(const std::optional<cuda::Capture>& a, const std::optional<cuda::Capture>& b) {
  return a.has_value() == b.has_value() && (!a || a->id == b->id);
}

}  // namespace

AllRanks::AllRanks(std::vector<std::shared_ptr<StreamCalls>> ranks,
                   const std::vector<std::shared_ptr<Order>>& others)
    : ranks_(std::move(ranks)), plans_(static_cast<int>(ranks_.size())) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    orders_of_ranks_.emplace_back(rank, ranks_[rank]->orders().own());
    if (others[rank] != nullptr) orders_of_ranks_.emplace_back(rank, others[rank]);
  }
  try {
    check_ranks();
    find_devices();
    reach_each_other();
    order_ = make_order();
    for (const auto& rank : ranks_) rank->orders().follow_also(order_);
    log(LogLevel::info, -1,
        "GPU buffers of calls that one thread launches for all " + std::to_string(ranks_.size()) +
            " ranks: combined in place, by kernels on " + words_of_devices(),
        LogSubsystem::p2p);
  } catch (const Error& error) {
    devices_.clear();
    log(LogLevel::info, -1,
        std::string("GPU buffers of calls that one thread makes for all ranks are not combined "
                    "where they lie: ") +
            error.what(),
        LogSubsystem::p2p);
  }
}

std::shared_ptr<Order> AllRanks::make_order() const {
  struct Kept {
    explicit Kept(cuda::SharedContext owner) : context(std::move(owner)) {}
    cuda::SharedContext context;
    Order order{};  // goes first
  };
  const cuda::CurrentContext current(devices_.front().context);
  const auto kept = std::make_shared<Kept>(ranks_.front()->context());
  return {kept, &kept->order};
}

std::string AllRanks::words_of_devices() const {
  std::vector<int> numbers;
  for (const Device& device : devices_) numbers.push_back(device.number);
  const std::string count = std::to_string(numbers.size());
  return numbers.size() == 1 ? count + " device"
                             : count + " devices over " + cuda::words_of_links(numbers);
}

void AllRanks::check_ranks() const {
  if (ranks_.size() > cuda::Kernels::max_sources) {
    throw Error(ErrorCode::invalid_usage,
                std::to_string(ranks_.size()) + " ranks are more than a kernel combines");
  }
  for (const auto& rank : ranks_) {
    if (!rank->state().config().peer_to_peer)
      throw Error(ErrorCode::configuration, "RONDO_P2P_DISABLE=1");
  }
}

void AllRanks::find_devices() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const cuda::Context context = ranks_[rank]->context().get();
    const auto found = std::ranges::find(devices_, context, &Device::context);
    device_of_.push_back(static_cast<std::size_t>(found - devices_.begin()));
    if (found != devices_.end()) continue;
    const cuda::Kernels& kernels = cuda::Kernels::of(context);
    const cuda::CurrentContext current(context);
    devices_.push_back({context, &kernels, rank, cuda::current_device()});
  }
}

void AllRanks::reach_each_other() const {
  for (const Device& device : devices_) {
    const cuda::CurrentContext current(device.context);
    for (const Device& peer : devices_) {
      if (peer.context != device.context) cuda::reach(peer.context);
    }
  }
}

bool AllRanks::is_in_reach(const void* pointer, Location where, std::size_t bytes) const {
  if (!where.on_device || !std::ranges::count(devices_, where.device, &Device::number))
    return false;
  if (devices_.size() == 1 || is_open_to_peers(pointer)) return true;
  const auto segments = cuda::segments_of(cuda::address_of(pointer), bytes);
  return std::ranges::all_of(
      devices_, [&](const Device& each) { return cuda::are_open_to(segments, each.number); });
}

bool AllRanks::are_in_reach(const Request& request, std::size_t rank) const {
  const std::size_t each = size_of(request.call.type);
  const auto fits = [&](const void* pointer, Location where, Buffer buffer) {
    const std::size_t bytes =
        bytes_of(request, buffer, static_cast<int>(rank), static_cast<int>(ranks_.size()));
    return bytes == 0 ||
           (is_in_reach(pointer, where, bytes) && cuda::address_of(pointer) % each == 0);
  };
  if (request.scale && request.scalar_later &&
      !is_in_reach(request.scalar, location_of(cuda::memory_at(request.scalar)), each))
    return false;
  return fits(request.input, request.where.input, Buffer::input) &&
         fits(request.output, request.where.output, Buffer::output);
}

bool AllRanks::find_streams(const std::vector<std::vector<Request>>& by_rank, Plan& plan) const {
  for (const std::vector<Request>& requests : by_rank) {
    if (requests.empty()) return false;
    const bool tells = std::ranges::none_of(requests, is_of_any_context, &Request::stream);
    if (devices_.size() > 1 && !tells) return false;
    plan.of_rank.push_back(requests.front().stream);
  }
  for (const Device& device : devices_) plan.lead.push_back(plan.of_rank[device.rank]);
  plan.capture = cuda::capture_of(plan.lead.front());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const Request& request : by_rank[rank]) {
      const bool known = std::ranges::count(plan.lead, request.stream) != 0 ||
                         std::ranges::any_of(plan.others, [&](const auto& other) {
                           return other.first == request.stream;
                         });
      if (cuda::context_of(request.stream) != ranks_[rank]->context().get()) return false;
      if (known) continue;
      if (!are_same(plan.capture, cuda::capture_of(request.stream))) return false;
      plan.others.emplace_back(request.stream, rank);
    }
  }
  return std::all_of(plan.lead.begin() + 1, plan.lead.end(), [&](cuda::Stream stream) {
    return are_same(plan.capture, cuda::capture_of(stream));
  });
}

std::optional<AllRanks::Plan> AllRanks::plan(const std::vector<std::vector<Request>>& by_rank) {
  if (devices_.empty() || by_rank.size() != ranks_.size()) return std::nullopt;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto fits = [&](const Request& request) {
      return request.call.count == 0 || are_in_reach(request, rank);
    };
    if (!std::ranges::all_of(by_rank[rank], fits)) return std::nullopt;
  }
  auto calls = match_calls(by_rank, plans_);
  Plan plan;
  const cuda::CurrentContext current(devices_.front().context);  // the null stream is this one's
  if (!calls || !find_streams(by_rank, plan)) return std::nullopt;
  plan.calls = std::move(*calls);
  return plan;
}

bool AllRanks::put(const std::vector<std::vector<Request>>& by_rank) {
  for (const auto& rank : ranks_) rank->refuse_after_failure();
  std::optional<Plan> plan = this->plan(by_rank);
  if (!plan) return false;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const Request& request : by_rank[rank])
      plan->traced.add(ranks_[rank]->state(), request, trace::Way::together,
                       plan->capture.has_value());
  }
  try {
    run(*plan);
  } catch (const std::exception& error) {
    for (const auto& rank : ranks_) rank->fail(error.what());
    throw;
  }
  return true;
}

void AllRanks::run(const Plan& plan) {
  const cuda::CurrentContext current(devices_.front().context);
  if (plan.capture) {  // every rank's events are in the graph
    for (const auto& rank : ranks_) rank->keep_with(plan.capture->graph);
  }
  begin(plan);
  launch(plan);
  end(plan);
}

/// body(rank, order).
template <class Body>
void AllRanks::for_used_orders(const Body& body) const {
  for (const auto& [rank, owned] : orders_of_ranks_) {
    const std::shared_ptr<Order> order = owned.lock();
    if (order != nullptr && order->used()) body(rank, *order);
  }
}

/// The first device's stream waits for those of the others.
void AllRanks::gather_leads(const Plan& plan) {
  for (std::size_t i = 1; i < devices_.size(); ++i)
    join(plan.lead.front(), plan.lead[i], ranks_[devices_[i].rank]->scratch());
}

/// The streams of the other devices wait for the first one's.
void AllRanks::release_leads(const Plan& plan) {
  for (std::size_t i = 1; i < devices_.size(); ++i)
    join(plan.lead[i], plan.lead.front(), ranks_.front()->scratch());
}

/// The devices' streams wait for what is in all others, and for the calls before.
void AllRanks::begin(const Plan& plan) {
  const cuda::Stream main = plan.lead.front();
  order_->follow(main, plan.capture);
  for_used_orders([&](std::size_t, Order& order) { order.follow(main, plan.capture); });
  for (const auto& [stream, rank] : plan.others) join(main, stream, ranks_[rank]->scratch());
  gather_leads(plan);
  plan.traced.begin(main);
  release_leads(plan);
}

/// On several devices each call begins after all parts of the one before.
void AllRanks::launch(const Plan& plan) {
  for (const Places& places : plan.calls) {
    if (&places != &plan.calls.front()) {
      gather_leads(plan);
      release_leads(plan);
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const cuda::CurrentContext current(devices_[i].context);
      devices_[i].kernels->run(work_of(places, device_of_, i, devices_.size()), plan.lead[i]);
    }
  }
}

/// All streams go on after the launches, and so do later calls, including those that ranks make
/// alone.
void AllRanks::end(const Plan& plan) {
  const cuda::Stream main = plan.lead.front();
  gather_leads(plan);
  plan.traced.end(main);
  release_leads(plan);
  order_->record(main, plan.capture);
  for (const auto& [stream, rank] : plan.others) order_->follow(stream, plan.capture);
  for_used_orders([&](std::size_t rank, Order& order) {
    const cuda::CurrentContext current(ranks_[rank]->context().get());
    order.record(plan.of_rank[rank], plan.capture);
  });
}

void AllRanks::finish() {
  if (order_ == nullptr || !order_->used()) return;
  const cuda::CurrentContext current(devices_.front().context);
  order_->finish();
}

}  // namespace rondo::stream
