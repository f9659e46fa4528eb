// The transports of a few ranks, of one kind and in one process, connected by hand; and what tests
// do with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/transport/doorbell.h"
#include "core/transport/local_exchange.h"
#include "tests/support/threads.h"
#include "tests/transports/decorators.h"
#include "transports/table.h"

namespace rondo::testing {

/// One row of the cross-product: a transport as it may be configured and wrapped.
struct Variant {
  std::string name{};
  const TransportKind* kind = nullptr;
  int sockets = 1;
  InfinibandConfig infiniband{};
  Mischief mischief{};
  bool checksum = false;  ///< TransportSettings::checksum
};
/// Why a kind cannot be tried here, for want of devices or because TESTED_TRANSPORTS leaves it out;
/// empty: it can.
std::string why_not_here(const TransportKind& kind);

/// Every kind in the table that can be tried here, plain, delayed and throttled; tcp also with
/// three sockets, verbs with two queue pairs.
std::vector<Variant> variants();
/// The plain variants only.
std::vector<Variant> plain_variants();

struct World {
  explicit World(const Variant& variant, int ranks = 2, std::size_t slot_bytes = 8192);
  Transport& operator[](int rank) { return *transports[static_cast<std::size_t>(rank)]; }
  /// Every rank that is left makes progress once.
  void progress();
  /// The same again and again until `condition` is true. Throws when that takes far too long.
  void until(const std::function<bool()>& condition);

  std::shared_ptr<LocalExchange> exchange = std::make_shared<LocalExchange>();
  std::vector<std::unique_ptr<Doorbell>> doorbells{};
  std::vector<std::unique_ptr<Transport>> transports{};
};

/// Calls `condition` until it is true, and yields in between. Throws when that takes far too long.
void wait_until(const std::function<bool()>& condition);

using test::on_all_ranks;

/// Frame `number`'s content: the same on both ends from the seed alone.
std::vector<std::byte> pattern(std::uint64_t seed, std::uint64_t number, std::size_t bytes);

/// These move a frame without waiting. They return false, or nothing, where it cannot be done now.
bool try_send(SendChannel& channel, const std::vector<std::byte>& bytes, std::uint64_t fingerprint);
struct Message {
  std::uint64_t fingerprint = 0;
  std::vector<std::byte> bytes{};
  friend bool operator==(const Message&, const Message&) = default;
};
std::optional<Message> try_receive(ReceiveChannel& channel);

/// These do the same but wait, while every rank of the world makes progress.
void send(World& world, SendChannel& channel, const std::vector<std::byte>& bytes,
          std::uint64_t fingerprint);
Message receive(World& world, ReceiveChannel& channel);

/// Open file descriptors of this process.
std::size_t open_descriptors();

}  // namespace rondo::testing
