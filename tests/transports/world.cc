#include "tests/transports/world.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "core/settings/settings.h"

namespace rondo::testing {

std::string why_not_here(const TransportKind& kind) {
  static const HostInfo here = describe_host(read_config());
  std::vector<std::string_view> names;
  for (const TransportKind& row : transport_kinds()) names.push_back(row.name);
  const char* const wanted = std::getenv("TESTED_TRANSPORTS");
  const std::string text = wanted == nullptr ? "" : wanted;
  if (!Selection(text, names, "TESTED_TRANSPORTS").allows(kind.name))
    return "TESTED_TRANSPORTS=" + text;
  return kind.obstacle(here, here);
}

std::vector<Variant> plain_variants() {
  const InfinibandConfig infiniband = read_config().infiniband;
  std::vector<Variant> all;
  for (const TransportKind& kind : transport_kinds()) {
    if (!why_not_here(kind).empty()) continue;
    all.push_back({.name = std::string(kind.name), .kind = &kind, .infiniband = infiniband});
    if (kind.name == "verbs") {
      all.push_back({.name = "verbs, 2 queue pairs", .kind = &kind, .infiniband = infiniband});
      all.back().infiniband.queue_pairs = 2;
    }
    if (kind.name == "tcp") all.push_back({"tcp, 3 sockets", &kind, 3});
  }
  return all;
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const Variant& plain : plain_variants()) {
    all.push_back(plain);
    Variant delayed = plain;
    delayed.name += ", delayed";
    delayed.mischief.delay_looks = 3;
    all.push_back(delayed);
    Variant throttled = plain;
    throttled.name += ", throttled";
    throttled.mischief.throttle_bytes = 100;
    all.push_back(throttled);
  }
  return all;
}

World::World(const Variant& variant, int ranks, std::size_t slot_bytes) {
  std::vector<std::string> addresses;
  for (int rank = 0; rank < ranks; ++rank) {
    doorbells.push_back(std::make_unique<Doorbell>());
    const TransportSettings settings{.rank = rank,
                                     .ranks = ranks,
                                     .communicator = 7,
                                     .slot_bytes = slot_bytes,
                                     .sockets = variant.sockets,
                                     .checksum = variant.checksum,
                                     .infiniband = variant.infiniband,
                                     .doorbell = doorbells.back().get(),
                                     .local = exchange};
    transports.push_back(wrap(variant.kind->make(settings), variant.mischief));
    addresses.push_back(transports.back()->address());
  }
  for (const auto& transport : transports) transport->meet(addresses);
}

void World::progress() {
  for (const auto& transport : transports) {
    if (transport) transport->progress();
  }
}

void World::until(const std::function<bool()>& condition) {
  wait_until([&] {
    progress();
    return condition();
  });
}

void wait_until(const std::function<bool()>& condition) {
  // Only a hang ends here; it is no measure of speed.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("waited in vain");
    std::this_thread::yield();
  }
}

std::vector<std::byte> pattern(std::uint64_t seed, std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = (seed * 1000003 + number) * 0x9e3779b97f4a7c15 + 1;
  for (std::byte& byte : data) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<std::byte>(state);
  }
  return data;
}

bool try_send(SendChannel& channel, const std::vector<std::byte>& bytes,
              std::uint64_t fingerprint) {
  const std::span<std::byte> slot = channel.acquire();
  if (slot.empty()) return false;
  if (!bytes.empty()) std::memcpy(slot.data(), bytes.data(), bytes.size());
  channel.commit(bytes.size(), {fingerprint});
  return true;
}

std::optional<Message> try_receive(ReceiveChannel& channel) {
  const Frame* frame = channel.peek();
  if (frame == nullptr) return std::nullopt;
  Message message{frame->tag.fingerprint, {frame->payload.begin(), frame->payload.end()}};
  channel.release();
  return message;
}

void send(World& world, SendChannel& channel, const std::vector<std::byte>& bytes,
          std::uint64_t fingerprint) {
  world.until([&] { return try_send(channel, bytes, fingerprint); });
}

Message receive(World& world, ReceiveChannel& channel) {
  std::optional<Message> message;
  world.until([&] { return (message = try_receive(channel)).has_value(); });
  return *message;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace rondo::testing
