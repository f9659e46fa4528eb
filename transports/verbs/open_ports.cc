#include "transports/verbs/open_ports.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace rondo::verbs {
namespace {

/// Turns the first ports, those as fast and as near as the very first. The rank's own comes first then.
void take_turns(std::vector<Port>& ports, int index) {
  const auto alike = [&](const Port& port) {
    return port.speed == ports.front().speed && port.numa_node == ports.front().numa_node;
  };
  const auto end = std::ranges::find_if_not(ports, alike);
  if (ports.begin() != end)
    std::rotate(ports.begin(), ports.begin() + index % (end - ports.begin()), end);
}

}  // namespace

OpenPorts::OpenPorts(const Settings& settings, int rank, int index)
    : settings_(settings), rank_(rank), ready_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!ready_) {
    throw Error(ErrorCode::system, "out of file descriptors",
                {.rank = rank, .remedy = "raise the limit of open files (ulimit -n)"});
  }
  const Discovery found = discover();
  ports_ = usable_ports(found.ports, settings);
  take_turns(ports_, index);
  names_ = name_ports(ports_, settings);
  opened_.resize(ports_.size());
  if (!ports_.empty()) return;
  throw Error(ErrorCode::configuration, "no RDMA port to use: " + why_none(found, settings),
              {.rank = rank,
               .remedy = found.remedy.empty() ? "allow another transport in RONDO_TRANSPORT"
                                              : found.remedy});
}

OpenPort& OpenPorts::choose(std::span<const PortName> theirs, int lane, int pair, int peer) {
  const int chosen = choose_port(names_, theirs, lane + pair);
  if (chosen >= 0) return opened(static_cast<std::size_t>(chosen));
  throw Error(ErrorCode::configuration,
              "no RDMA port reaches the peer's: " + why_apart(names_, theirs),
              {.rank = rank_,
               .peer = peer,
               .remedy = "RONDO_IB_GID_INDEX or RONDO_IB_HCA on either rank, or "
                         "RONDO_TRANSPORT=^verbs"});
}

OpenPort& OpenPorts::opened(std::size_t at) {
  if (!opened_[at]) {
    opened_[at] = std::make_unique<OpenPort>(ports_[at], names_[at].gid, rank_);
    open_.push_back(opened_[at].get());
  }
  return *opened_[at];
}

bool OpenPorts::forget_freed() {
  bool all = true;
  for (OpenPort* port : open_) all &= port->regions().forget_freed();
  return all;
}

void OpenPorts::add_descriptors(std::vector<pollfd>& descriptors) {
  bool moved = false;
  for (OpenPort* port : open_) {
    moved |= port->arm();
    port->add_descriptors(descriptors);
  }
  if (moved) descriptors.push_back({.fd = ready_.get(), .events = POLLIN, .revents = 0});
}

}  // namespace rondo::verbs
