#include "core/direct_device/few_queues.h"

#include <algorithm>

#include "core/base/environment.h"
#include "core/stream/side_streams.h"

namespace rondo::direct_device {
namespace {

constexpr const char* variable = "CUDA_DEVICE_MAX_CONNECTIONS";
constexpr int usual_queues = 8;  ///< the driver's default

/// One for each stream that a group of messages uses at once, but no more than most programs have.
int wanted_queues(int ranks) {
  return std::min(usual_queues, static_cast<int>(stream::SideStreams::usual(ranks)) + 1);
}

}  // namespace

int queues_asked_for() {
  const auto text = Environment(Environment::of_process()).find(variable);
  const auto number = text ? parse_integer(*text) : std::nullopt;
  return number ? static_cast<int>(std::clamp(*number, 0LL, 32LL)) : 0;
}

std::string words_of_few_queues(int queues, int rank, int ranks, std::size_t staged_bytes) {
  if (queues == 0 || queues >= wanted_queues(ranks)) return {};
  const std::string set = variable + ("=" + std::to_string(queues));
  return set + " on rank " + std::to_string(rank) +
         ": a stream that waits for a peer may hold up the rank's other streams. A group with "
         "several "
         "receives, or with a message of more than " +
         std::to_string(staged_bytes) +
         " bytes, can hang unless its peers make the same messages in one group. So can calls of "
         "several communicators that ranks make in different orders. Unset it, or set at least " +
         std::to_string(wanted_queues(ranks)) + "; RONDO_P2P_DISABLE=1 does not help";
}

}  // namespace rondo::direct_device
