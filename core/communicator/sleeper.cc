#include "core/communicator/sleeper.h"

namespace rondo::detail {
namespace {

/// Longest sleeps. A doorbell can be missed (see doorbell.h), so it is never trusted for long;
/// descriptors cannot, but connections under way want a look, and other transports do.
constexpr std::chrono::milliseconds doorbell_sleep{1};
constexpr std::chrono::milliseconds descriptor_sleep{5};

constexpr std::size_t descriptors_per_peer = 8;  ///< lanes and directions that usual jobs use

}  // namespace

Sleeper::Sleeper(Engine& engine, Connections& connections)
    : engine_(engine),
      connections_(connections),
      doorbell_(connections.doorbell()),
      longest_poll_(connections.kinds() == 1 ? descriptor_sleep : doorbell_sleep) {
  descriptors_.reserve(descriptors_per_peer * connections.by_peer().size());
}

bool Sleeper::sleep() {
  doorbell_.arm();
  const bool moved = engine_.progress() || engine_.progress_transports();
  if (!moved && callers_.load(std::memory_order_seq_cst) == 0) {
    descriptors_.clear();
    engine_.add_descriptors(descriptors_);
    doorbell_.sleep(descriptors_.empty() ? doorbell_sleep : longest_poll_, descriptors_);
  }
  doorbell_.disarm();
  return moved;
}

}  // namespace rondo::detail
