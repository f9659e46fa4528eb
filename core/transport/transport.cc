#include "core/transport/transport.h"

#include <algorithm>
#include <bit>

#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t smallest_slot = 4096;
constexpr std::size_t reckoned_lanes = 8;

[[noreturn]] void throw_undeclared(const char* what) {
  throw Error(ErrorCode::internal,
              std::string(what) + " called on a channel that does not declare it");
}

}  // namespace

std::size_t SendChannel::send_from(std::span<const std::byte>, FrameTag) {
  throw_undeclared("send_from()");
}

std::optional<FrameHead> ReceiveChannel::frame_head() { throw_undeclared("frame_head()"); }

std::size_t ReceiveChannel::receive_into(std::span<std::byte>) {
  throw_undeclared("receive_into()");
}

int Transport::depth_of(std::size_t) const { return depth(); }

void Transport::add_descriptors(std::vector<pollfd>&) const {}

std::size_t default_slot_bytes(int ranks, std::size_t preferred, std::size_t slots) {
  const auto peers = static_cast<std::size_t>(std::max(ranks - 1, 1));
  const std::size_t neighbours =
      std::min(peers, 2 * static_cast<std::size_t>(std::bit_width(peers)));
  const std::size_t channels = peers + (reckoned_lanes - 1) * neighbours;
  std::size_t bytes = preferred;
  while (bytes > smallest_slot && (bytes * slots * channels > rank_channel_limit ||
                                   bytes * slots * reckoned_lanes > peer_channel_limit)) {
    bytes /= 2;
  }
  return std::max(bytes, smallest_slot);
}

std::size_t choose_slot_bytes(const TransportSettings& settings, std::size_t preferred,
                              std::size_t slots) {
  if (settings.slot_bytes == 0) return default_slot_bytes(settings.ranks, preferred, slots);
  return (settings.slot_bytes + 63) / 64 * 64;
}

std::size_t choose_slot_bytes_on_host(TransportSettings settings, std::size_t preferred,
                                      std::size_t slots) {
  if (settings.on_host > 0) settings.ranks = settings.on_host;
  return choose_slot_bytes(settings, preferred, slots);
}

}  // namespace rondo
