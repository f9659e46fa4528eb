#include "core/execute/channels.h"

#include <algorithm>
#include <utility>

namespace rondo::detail {

Channels::Channels(std::vector<Transport*> transports, bool checksum)
    : transports_(std::move(transports)),
      links_(transports_.size() * (most_lanes + 1)),
      checksum_(checksum) {
  for (Transport* transport : transports_) {
    if (transport == nullptr || std::count(distinct_.begin(), distinct_.end(), transport) > 0)
      continue;
    distinct_.push_back(transport);
    by_memory_ = by_memory_ && transport->link_class() == LinkClass::memory;
  }
}

bool Channels::progress() {
  bool moved = false;
  for (Transport* transport : distinct_) moved |= transport->progress();
  return moved;
}

bool Channels::write_on() {
  bool moved = false;
  for (Transport* transport : distinct_) moved |= transport->write_on();
  return moved;
}

bool Channels::handed_over() const {
  for (Transport* transport : distinct_) transport->settle();
  return std::all_of(distinct_.begin(), distinct_.end(),
                     [](const Transport* transport) { return transport->flushed(); });
}

bool Channels::handed_over(int peer, bool sends) {
  if (sends) return sender(peer, point_to_point_lane).handed_over();
  to(peer).settle();
  return true;
}

bool Channels::flushed() const {
  return std::all_of(senders_.begin(), senders_.end(),
                     [](const SendChannel* out) { return out->flushed(); });
}

void Channels::add_descriptors(std::vector<pollfd>& descriptors) const {
  for (const Transport* transport : distinct_) transport->add_descriptors(descriptors);
}

void Channels::open_sender(Link& link, int peer, int lane) {
  link.out = &to(peer).sender(peer, lane);
  senders_.push_back(link.out);
}

}  // namespace rondo::detail
