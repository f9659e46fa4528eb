#include "core/control/served.h"

#include <algorithm>
#include <utility>

namespace rondo::control {

const std::shared_ptr<Served>& Served::all() {
  static const auto served = std::make_shared<Served>();
  return served;
}

void Served::add(const BootstrapPoint& point, std::shared_ptr<Service> service) {
  const std::lock_guard lock(mutex_);
  keep(point, std::move(service));
}

void Served::end_over() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.service->is_over(); });
}

void Served::keep(const BootstrapPoint& point, std::shared_ptr<Service> service) {
  end_over();
  entries_.push_back(
      {.id = point.by_id ? point.secret : Secret{}, .service = std::move(service), .ranks = {}});
}

std::shared_ptr<Service> Served::at(const BootstrapPoint& point) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::ranges::find(entries_, point.secret, &Entry::id);
  return !point.by_id || entry == entries_.end() ? nullptr : entry->service;
}

std::shared_ptr<Service> Served::join(const BootstrapPoint& point,
                                      std::shared_ptr<Service> service) {
  const std::lock_guard lock(mutex_);
  const auto added = [&] { return std::ranges::find(entries_, service, &Entry::service); };
  if (added() == entries_.end()) keep(point, service);
  Entry& entry = *added();
  auto ranks = entry.ranks.lock();
  if (!ranks) {
    // Static objects may let go of ranks after this one was destroyed.
    const auto last_left = [service, weak = weak_from_this()](Service*) {
      service->let_others_leave();
      const auto all = weak.lock();
      if (!all) return;
      const std::lock_guard of_all(all->mutex_);
      all->end_over();
    };
    ranks = {service.get(), last_left};
    entry.ranks = ranks;
  }
  return ranks;
}

void Served::end_unused(std::uint16_t port) {
  std::vector<Entry> ended;  // without the lock, as that may take some seconds
  const std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(
      entries_.begin(), entries_.end(),
      [&](const Entry& entry) { return entry.service->port() != port || !entry.ranks.expired(); });
  ended.assign(std::move_iterator(first), std::move_iterator(entries_.end()));
  entries_.erase(first, entries_.end());
}

}  // namespace rondo::control
