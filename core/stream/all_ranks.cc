#include "core/stream/all_ranks.h"

#include <algorithm>

#include "core/base/log.h"

namespace rondo::stream {
namespace {

using cuda::check;
using cuda::driver;

int device_of_memory(const void* pointer) {
  int device = -1;
  const int status = driver().pointer_get_attribute(&device, cuda::attribute_device_ordinal,
                                                    cuda::address_of(pointer));
  return status == cuda::success ? device : -1;
}

/// Whether it comes from cuMemAlloc, which peers reach once they may reach the device; memory of
/// pools and mapped memory have permissions of their own.
bool is_open_to_peers(const void* pointer) {
  int capable = 0;
  const int status = driver().pointer_get_attribute(&capable, cuda::attribute_ipc_capable,
                                                    cuda::address_of(pointer));
  return status == cuda::success && capable != 0;
}

int current_device() {
  int device = 0;
  check(driver().ctx_get_device(&device), "cuCtxGetDevice");
  return device;
}

bool are_same(const std::optional<cuda::Capture>& a, const std::optional<cuda::Capture>& b) {
  return a.has_value() == b.has_value() && (!a || a->id == b->id);
}

}  // namespace

AllRanks::AllRanks(std::vector<std::shared_ptr<StreamCalls>> ranks,
                   const std::vector<std::shared_ptr<Order>>& others)
    : ranks_(std::move(ranks)) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    orders_of_ranks_.emplace_back(rank, ranks_[rank]->order());
    if (others[rank] != nullptr) orders_of_ranks_.emplace_back(rank, others[rank]);
  }
  try {
    check_ranks();
    find_devices();
    reach_each_other();
    const cuda::CurrentContext current(devices_.front().context);
    order_ = std::make_shared<Order>();
    for (const auto& rank : ranks_) rank->follow_also(order_);
    log(LogLevel::info, -1,
        "GPU buffers of a thread's group for all " + std::to_string(ranks_.size()) +
            " ranks: combined where they lie, by kernels on " + std::to_string(devices_.size()) +
            " device(s)");
  } catch (const Error& error) {
    devices_.clear();
    log(LogLevel::info, -1,
        std::string("GPU buffers of a thread's group are not combined where they lie: ") +
            error.what());
  }
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
    const cuda::Context context = ranks_[rank]->context();
    const auto found = std::ranges::find(devices_, context, &Device::context);
    device_of_.push_back(static_cast<std::size_t>(found - devices_.begin()));
    if (found != devices_.end()) continue;
    const cuda::Kernels& kernels = cuda::Kernels::of(context);
    const cuda::CurrentContext current(context);
    devices_.push_back({context, &kernels, rank, current_device()});
  }
}

void AllRanks::reach_each_other() const {
  for (const Device& device : devices_) {
    const cuda::RelaxedCapture relaxed;
    const cuda::CurrentContext current(device.context);
    for (const Device& peer : devices_) {
      if (peer.context == device.context) continue;
      const int status = driver().ctx_enable_peer_access(peer.context, 0);
      if (status != cuda::peer_access_already_enabled) check(status, "cuCtxEnablePeerAccess");
    }
  }
}

bool AllRanks::is_in_reach(const void* pointer) const {
  if (!cuda::is_device_memory(pointer)) return false;
  if (!std::ranges::count(devices_, device_of_memory(pointer), &Device::number)) return false;
  return devices_.size() == 1 || is_open_to_peers(pointer);
}

bool AllRanks::are_in_reach(const Request& request, std::size_t rank) const {
  const Call& call = request.call;
  const bool message = call.collective == Collective::send_recv;
  const bool root = static_cast<std::size_t>(call.root) == rank;
  const bool reads = message ? request.sends
                             : root || (call.collective != Collective::broadcast &&
                                        call.collective != Collective::scatter);
  const bool writes = message ? !request.sends
                              : root || (call.collective != Collective::reduce &&
                                         call.collective != Collective::gather);
  const auto fits = [&](const void* pointer) {
    return is_in_reach(pointer) && cuda::address_of(pointer) % size_of(call.type) == 0;
  };
  if (request.scale && request.scalar_later && !is_in_reach(request.scalar)) return false;
  return (!reads || fits(request.input)) && (!writes || fits(request.output));
}

bool AllRanks::find_streams(const std::vector<std::vector<Request>>& by_rank, Plan& plan) const {
  for (const std::vector<Request>& requests : by_rank) {
    if (requests.empty()) return false;
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
      cuda::Context context = nullptr;
      check(driver().stream_get_ctx(request.stream, &context), "cuStreamGetCtx");
      if (context != ranks_[rank]->context()) return false;
      if (known) continue;
      if (!are_same(plan.capture, cuda::capture_of(request.stream))) return false;
      plan.others.emplace_back(request.stream, rank);
    }
  }
  return std::ranges::all_of(plan.lead, [&](cuda::Stream stream) {
    return are_same(plan.capture, cuda::capture_of(stream));
  });
}

std::optional<AllRanks::Plan> AllRanks::plan(
    const std::vector<std::vector<Request>>& by_rank) const {
  if (devices_.empty() || by_rank.size() != ranks_.size()) return std::nullopt;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto fits = [&](const Request& request) {
      return request.call.count == 0 || are_in_reach(request, rank);
    };
    if (!std::ranges::all_of(by_rank[rank], fits)) return std::nullopt;
  }
  auto calls = match_calls(by_rank);
  Plan plan;
  if (!calls || !find_streams(by_rank, plan)) return std::nullopt;
  plan.calls = std::move(*calls);
  return plan;
}

bool AllRanks::put(const std::vector<std::vector<Request>>& by_rank) {
  for (const auto& rank : ranks_) rank->rethrow_failure();
  const std::optional<Plan> plan = this->plan(by_rank);
  if (!plan) return false;
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

/// And they for it.
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
  release_leads(plan);
}

/// On several devices each call begins behind all parts of the one before.
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

/// All streams go on behind the launches, and so do later calls: those of ranks by themselves, too.
void AllRanks::end(const Plan& plan) {
  const cuda::Stream main = plan.lead.front();
  gather_leads(plan);
  release_leads(plan);
  check(driver().event_record(ranks_.front()->scratch(), main), "cuEventRecord");
  for (const auto& [stream, rank] : plan.others)
    check(driver().stream_wait_event(stream, ranks_.front()->scratch(), 0), "cuStreamWaitEvent");
  order_->record(main, plan.capture);
  for_used_orders([&](std::size_t rank, Order& order) {
    const cuda::CurrentContext current(ranks_[rank]->context());
    order.record(plan.of_rank[rank], plan.capture);
  });
}

void AllRanks::finish() {
  if (order_ == nullptr || !order_->used()) return;
  const cuda::RelaxedCapture relaxed;
  const cuda::CurrentContext current(devices_.front().context);
  order_->finish();
}

}  // namespace rondo::stream
