#include "core/communicator/sleeper.h"

#include <chrono>

namespace rondo::detail {
namespace {

/// Longest sleeps. A doorbell can be missed (see doorbell.h), so it is never trusted for long;
/// descriptors cannot, but connections under way want a look, and other transports do.
constexpr std::chrono::milliseconds doorbell_sleep{1};
constexpr int descriptor_sleep_ms = 5;
constexpr int mixed_sleep_ms = 1;

constexpr std::size_t descriptors_per_peer = 8;  ///< lanes and directions that usual jobs use

}  // namespace

Sleeper::Sleeper(Engine& engine, Connections& connections)
    : engine_(engine),
      doorbell_(connections.doorbell()),
      longest_poll_ms_(connections.kinds() == 1 ? descriptor_sleep_ms : mixed_sleep_ms) {
  descriptors_.reserve(descriptors_per_peer * connections.by_peer().size());
}

bool Sleeper::sleep() {
  doorbell_.arm();
  const bool moved = engine_.progress() || engine_.progress_transports();
  if (!moved) {
    descriptors_.clear();
    engine_.add_descriptors(descriptors_);
    if (descriptors_.empty()) {
      doorbell_.sleep(doorbell_sleep);
    } else {
      sleep_on_descriptors();
    }
  }
  doorbell_.disarm();
  return moved;
}

void Sleeper::sleep_on_descriptors() {
  if (!waker_.is_open()) {  // there is no second thread
    ::poll(descriptors_.data(), descriptors_.size(), longest_poll_ms_);
    return;
  }
  descriptors_.push_back({.fd = waker_.descriptor(), .events = POLLIN, .revents = 0});
  waker_.arm();
  if (callers_.load(std::memory_order_seq_cst) == 0)
    ::poll(descriptors_.data(), descriptors_.size(), longest_poll_ms_);
  waker_.disarm();
}

}  // namespace rondo::detail
