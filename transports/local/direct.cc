#include "transports/local/direct.h"

#include <cstring>
#include <string>

#include "rondo/error.h"

namespace rondo::local {
namespace {

// There is one address space, so any address serves like a window.
constexpr std::uint64_t every_window = 1;

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

void LocalAccess::meet() {
  bells_.clear();
  for (int peer = 0; peer < settings_.ranks; ++peer) {
    bells_.push_back(
        peer == settings_.rank ? nullptr : settings_.local->doorbell(settings_.communicator, peer));
  }
}

std::byte* LocalAccess::board(std::size_t bytes) {
  if (!board_ || bytes != board_bytes_) {
    board_ = settings_.local->board(settings_.communicator, settings_.rank, bytes);
    board_bytes_ = bytes;
  }
  return board_.get();
}

void LocalAccess::check(int peer) {
  if (peer == settings_.rank || settings_.local->doorbell(settings_.communicator, peer)) return;
  throw Error(
      ErrorCode::peer_lost, "the peer closed its communicator",
      {.rank = settings_.rank, .peer = peer, .remedy = "look at that rank's own output for why"});
}

Exposed LocalAccess::expose(const void* memory, std::size_t) const {
  return {.address = reinterpret_cast<std::uintptr_t>(memory), .window = every_window};
}

std::byte* LocalAccess::map(int peer, const Exposed& place, std::size_t) {
  if (place.window != every_window) {
    throw Error(ErrorCode::invalid_argument,
                "the peer has no window " + std::to_string(place.window),
                {.rank = settings_.rank, .peer = peer, .remedy = "what expose() returned there"});
  }
  return pointer(place.address);
}

void LocalAccess::wake(int peer) {
  if (const auto& bell = bells_[static_cast<std::size_t>(peer)]) ring(bell->word());
}

}  // namespace rondo::local
