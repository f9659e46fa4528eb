#include "transports/verbs/open_port.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "transports/verbs/regions.h"

namespace rondo::verbs {
namespace {

// Enough for dozens of channels; where more come, there are more queues.
constexpr std::uint32_t usual_queue = 4096;
constexpr int polled_at_once = 16;

void make_nonblocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/// The queue pair in the event's element, where its kind has one there.
const ibv_qp* pair_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp;
    default:
      return nullptr;
  }
}

}  // namespace

OpenPort::OpenPort(Port port, Gid gid, int rank)
    : description_(std::move(port)),
      gid_(std::move(gid)),
      rank_(rank),
      context_(open(description_)),
      regions_(blocks_of_process(), *this, RegionCache::Limits()) {
  const Library& table = library();
  domain_.reset(table.alloc_pd(context_.get()));
  if (!domain_) throw call_error("allocating a protection domain", errno, link(-1));
  channel_.reset(table.create_comp_channel(context_.get()));
  if (!channel_) throw call_error("creating a completion channel", errno, link(-1));
  make_nonblocking(channel_->fd);
  make_nonblocking(context_->async_fd);
  ibv_device_attr attributes{};
  if (const int error = table.query_device(context_.get(), &attributes); error != 0) {
    throw call_error("querying the device", error, link(-1));
  }
  largest_queue_ = static_cast<std::uint32_t>(std::max(attributes.max_cqe, 1));
}

OpenPort::~OpenPort() { drain_events(); }

Link OpenPort::link(int peer) const {
  return {.rank = rank_,
          .peer = peer,
          .device = description_.device,
          .port = description_.port,
          .gid = to_text(gid_) + " (GID " + std::to_string(gid_.index) + ")"};
}

std::string OpenPort::account() const {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  return description_.device + " port " + std::to_string(description_.port) + ": " +
         text(tally_.sends) + " sends (" + text(tally_.from_place) + " from user memory, " +
         text(tally_.signalled) + " with a completion, " + text(tally_.questions) +
         " only for a completion), " + text(regions_.registrations()) +
         " registrations of user memory, " + text(regions_.registered_bytes()) +
         " bytes of host memory registered at the end";
}

std::uint32_t OpenPort::admit(Worker& worker) {
  workers_.push_back(&worker);
  readers_.reserve(workers_.capacity());  // so that sending allocates nothing
  return static_cast<std::uint32_t>(workers_.size() - 1);
}

Registration OpenPort::register_block(const Block& block) {
  return verbs::register_block(*this, block);
}

std::uint64_t OpenPort::oldest_read() const {
  std::uint64_t oldest = RegionCache::Device::nothing_read;
  for (const Worker* reader : readers_) oldest = std::min(oldest, reader->oldest_read());
  return oldest;
}

ibv_cq* OpenPort::queue(std::uint32_t entries) {
  if (queues_.empty() || queues_.back().room < entries) {
    const std::uint32_t size = std::max(std::min(usual_queue, largest_queue_), entries);
    Queue made{.handle = CompletionQueue(library().create_cq(context_.get(), static_cast<int>(size),
                                                             nullptr, channel_.get(), 0)),
               .room = size};
    if (!made.handle) {
      throw call_error("creating a completion queue of " + std::to_string(size) + " entries", errno,
                       link(-1));
    }
    queues_.push_back(std::move(made));
  }
  queues_.back().room -= entries;
  return queues_.back().handle.get();
}

bool OpenPort::poll(ibv_cq* queue) {
  std::array<ibv_wc, polled_at_once> completions;
  int found = polled_at_once;
  bool moved = false;
  while (found == polled_at_once) {
    found = ibv_poll_cq(queue, polled_at_once, completions.data());
    if (found < 0) throw call_error("polling a completion queue", -found, link(-1));
    for (const ibv_wc& completion : std::span(completions).first(static_cast<std::size_t>(found))) {
      const std::uint64_t id = completion.wr_id;
      const auto count = static_cast<std::uint32_t>(id) & request_count_mask;
      workers_[id >> 32]->completed(completion, (id >> 31 & 1) != 0, count);
    }
    moved |= found > 0;
  }
  return moved;
}

bool OpenPort::arm() {
  drain_events();
  for (const Queue& queue : queues_) {
    if (const int error = ibv_req_notify_cq(queue.handle.get(), 0); error != 0) {
      throw call_error("asking for completion events", error, link(-1));
    }
  }
  return poll();
}

void OpenPort::drain_events() {
  if (!channel_ || queues_.empty()) return;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (library().get_cq_event(channel_.get(), &queue, &context) == 0) {
    library().ack_cq_events(queue, 1);
  }
}

PortCondition OpenPort::condition() const {
  ibv_port_attr attributes{};
  if (query_port(library(), context_.get(), description_.port, attributes) != 0)
    return PortCondition::gone;
  return attributes.state == IBV_PORT_ACTIVE ? PortCondition::well : PortCondition::down;
}

PortCondition OpenPort::condition_after_refusal() const {
  constexpr int looks = 100;
  constexpr std::chrono::milliseconds between{5};
  PortCondition found = condition();
  for (int look = 1; found == PortCondition::well && look < looks; ++look) {
    std::this_thread::sleep_for(between);
    found = condition();
  }
  return found;
}

void OpenPort::note_down(const Error& error, std::chrono::microseconds patience) {
  if (!down_) down_ = {error, std::chrono::steady_clock::now() + patience};
}

std::optional<Error> OpenPort::given_up() {
  if (!down_ || std::chrono::steady_clock::now() < down_->until) return std::nullopt;
  const Error error = down_->error;
  down_.reset();
  if (condition() == PortCondition::well) return std::nullopt;
  return error;
}

void OpenPort::add_descriptors(std::vector<pollfd>& descriptors) const {
  descriptors.push_back({.fd = channel_->fd, .events = POLLIN, .revents = 0});
  descriptors.push_back({.fd = context_->async_fd, .events = POLLIN, .revents = 0});
}

std::unique_ptr<OpenPort::Event> OpenPort::next_event() {
  ibv_async_event event{};
  while (library().get_async_event(context_.get(), &event) == 0) {
    auto told =
        std::make_unique<Event>(Event{event_report(event.event_type, link(-1)), pair_of(event)});
    const bool here = concerns(event, description_.port);
    library().ack_async_event(&event);
    if (here) return told;
  }
  return nullptr;
}

}  // namespace rondo::verbs
