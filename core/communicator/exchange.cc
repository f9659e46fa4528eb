#include "core/communicator/exchange.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

#include "core/base/memory_range.h"
#include "core/communicator/arguments.h"

namespace rondo::detail {
namespace {

/// Calls visit(place) for every rank's block.
template <class Visit>
void visit_places(const void* buffer, const Blocks& blocks, DataType type, Visit visit) {
  std::size_t packed = 0;
  for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank) {
    const std::size_t first = blocks.displacements.empty() ? packed : blocks.displacements[rank];
    visit(MemoryRange{reinterpret_cast<std::uintptr_t>(buffer) + first * size_of(type),
                      blocks.counts[rank] * size_of(type)});
    packed += blocks.counts[rank];
  }
}

/// The places of the blocks, by rank.
std::vector<MemoryRange> places_of(const void* buffer, const Blocks& blocks, DataType type) {
  std::vector<MemoryRange> places;
  places.reserve(blocks.counts.size());
  visit_places(buffer, blocks, type, [&](const MemoryRange& place) { places.push_back(place); });
  return places;
}

/// The memory from the first to the last of a side's blocks.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool in_order = true;  ///< each block begins where the one before ends, or later
};

Extent extent_of(const void* buffer, const Blocks& blocks, DataType type) {
  Extent extent;
  visit_places(buffer, blocks, type, [&](const MemoryRange& place) {
    if (place.bytes == 0) return;
    extent.in_order = extent.in_order && extent.end <= place.begin;
    extent.begin = extent.end == 0 ? place.begin : std::min(extent.begin, place.begin);
    extent.end = std::max(extent.end, place.end());
  });
  return extent;
}

/// The block of one rank.
MemoryRange place_of(const void* buffer, const Blocks& blocks, DataType type, int rank) {
  const auto at = static_cast<std::ptrdiff_t>(rank);
  const std::size_t first =
      blocks.displacements.empty()
          ? std::accumulate(blocks.counts.begin(), blocks.counts.begin() + at, std::size_t{0})
          : blocks.displacements[static_cast<std::size_t>(at)];
  return {reinterpret_cast<std::uintptr_t>(buffer) + first * size_of(type),
          blocks.counts[static_cast<std::size_t>(at)] * size_of(type)};
}

/// Checks the arguments of one exchange on one rank.
class Check {
 public:
  Check(const Exchange& exchange, int rank, int ranks)
      : exchange_(exchange), rank_(rank), ranks_(static_cast<std::size_t>(ranks)) {}

  void type() const {
    if (static_cast<std::size_t>(exchange_.type) < data_types.size()) return;
    throw Error(ErrorCode::invalid_argument,
                "unknown data type " + std::to_string(static_cast<int>(exchange_.type)),
                {.rank = rank_, .call = "all_to_all_v", .remedy = "use a rondo::DataType"});
  }

  /// One side; `what` names it.
  void side(const void* buffer, const Blocks& blocks, const std::string& what) const {
    if (blocks.counts.size() != ranks_)
      reject(list(what, "counts", blocks.counts.size()), "give one for each rank");
    if (!blocks.displacements.empty() && blocks.displacements.size() != ranks_)
      reject(list(what, "displacements", blocks.displacements.size()),
             "give one for each rank, or none: then the blocks lie one after the other");
    std::size_t packed = 0;
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      const std::size_t count = blocks.counts[peer];
      const std::size_t begin = blocks.displacements.empty() ? packed : blocks.displacements[peer];
      std::ptrdiff_t bytes = 0;
      if (__builtin_add_overflow(begin, count, &packed) ||
          __builtin_mul_overflow(packed, size_of(exchange_.type), &bytes)) {
        reject("the " + what + " block of rank " + std::to_string(peer) + ", " +
                   std::to_string(count) + " elements from " + std::to_string(begin) +
                   " on, exceeds the address space",
               "check for a negative or uninitialised count or displacement");
      }
      if (count > 0 && buffer == nullptr)
        reject("the buffer of " + what + " blocks is null", "pass memory for them");
    }
  }

  void memory(const void* buffer, const Blocks& blocks, const std::string& what) const {
    int peer = 0;
    visit_places(buffer, blocks, exchange_.type, [&](const MemoryRange& block) {
      const std::string why =
          memory_obstacle(reinterpret_cast<const void*>(block.begin), block.bytes);
      if (!why.empty())
        reject("the " + what + " block of rank " + std::to_string(peer) + ": " + why,
               "check the counts, and that the memory has not been freed");
      ++peer;
    });
  }

  void own_blocks() const {
    const auto self = static_cast<std::size_t>(rank_);
    const std::size_t sent = exchange_.sent.counts[self];
    const std::size_t received = exchange_.received.counts[self];
    if (sent == received) return;
    reject("this rank sends " + std::to_string(sent) + " elements to itself and receives " +
               std::to_string(received),
           "give both lists the same count for this rank itself");
  }

  /// Sent blocks may overlap: they are only read.
  void overlap() const {
    // Most buffers lie apart, and their blocks in order: then there is nothing to sort.
    const Extent reads = extent_of(exchange_.input, exchange_.sent, exchange_.type);
    const Extent writes = extent_of(exchange_.output, exchange_.received, exchange_.type);
    if (writes.in_order && (reads.end <= writes.begin || writes.end <= reads.begin)) return;
    const DataType type = exchange_.type;
    const WrittenMemory written(places_of(exchange_.output, exchange_.received, type));
    if (written.meets_itself())
      reject("received blocks overlap", "give each of them memory of its own");
    for (const MemoryRange& read : places_of(exchange_.input, exchange_.sent, type)) {
      if (!written.meets(read)) continue;
      reject("a sent block overlaps a received one: all_to_all_v cannot work in place",
             "give input and output memory of their own");
    }
  }

 private:
  [[noreturn]] void reject(const std::string& what, const std::string& remedy) const {
    throw Error(ErrorCode::invalid_argument, what,
                {.rank = rank_, .call = to_string(call_of(exchange_)), .remedy = remedy});
  }
  std::string list(const std::string& what, const std::string& of, std::size_t size) const {
    return std::to_string(size) + " " + of + " of " + what + " blocks for " +
           std::to_string(ranks_) + " ranks";
  }

  const Exchange& exchange_;
  int rank_;
  std::size_t ranks_;
};

}  // namespace

void check_exchange(const Exchange& exchange, int rank, int ranks, bool in_host_memory) {
  const Check check(exchange, rank, ranks);
  check.type();
  check.side(exchange.input, exchange.sent, "sent");
  check.side(exchange.output, exchange.received, "received");
  check.own_blocks();
  if (in_host_memory) {
    check.memory(exchange.input, exchange.sent, "sent");
    check.memory(exchange.output, exchange.received, "received");
  }
  check.overlap();
}

Call call_of(const Exchange& exchange) {
  return {.collective = Collective::all_to_all, .type = exchange.type, .blocks = between_pairs};
}

std::vector<PairMessage> messages_of(const Exchange& exchange, int rank) {
  const std::vector<MemoryRange> sent = places_of(exchange.input, exchange.sent, exchange.type);
  const std::vector<MemoryRange> received =
      places_of(exchange.output, exchange.received, exchange.type);
  const int ranks = static_cast<int>(sent.size());
  std::vector<PairMessage> messages;
  messages.reserve(2 * sent.size());
  const auto message = [&](bool sends, int peer) -> Message {
    const Blocks& side = sends ? exchange.sent : exchange.received;
    return {message_between(side.counts[static_cast<std::size_t>(peer)], exchange.type), peer,
            sends};
  };
  for (int distance = 1; distance <= ranks; ++distance) {
    const int next = (rank + distance) % ranks;
    const int previous = (rank + ranks - distance) % ranks;
    const std::uintptr_t from = sent[static_cast<std::size_t>(next)].begin;
    const std::uintptr_t to = received[static_cast<std::size_t>(previous)].begin;
    messages.push_back({message(false, previous), nullptr, reinterpret_cast<void*>(to)});
    messages.push_back({message(true, next), reinterpret_cast<const void*>(from), nullptr});
  }
  return messages;
}

bool shorten(const Exchange& exchange, int rank, std::size_t most_bytes, PreparedCall& into) {
  const int ranks = static_cast<int>(exchange.sent.counts.size());
  into.call = call_of(exchange);
  into.element_bytes = size_of(exchange.type);
  into.short_ops.resize(static_cast<std::size_t>(2 * ranks - 1));
  into.short_sources.resize(into.short_ops.size());
  bool fits = true;
  const auto add = [&](int place, const MemoryRange& block) -> ShortOp& {
    fits = fits && block.bytes <= most_bytes;
    const auto at = static_cast<std::uint32_t>(place);
    into.short_sources[at] = {.buffer = Buffer::input, .offset = block.begin};
    return into.short_ops[at] = {.elements = block.bytes / into.element_bytes,
                                 .bytes = block.bytes,
                                 .first_source = at,
                                 .sources = 1,
                                 .lane = point_to_point_lane};
  };
  const int own = ranks - 1;
  int peer = 0;
  visit_places(nullptr, exchange.sent, exchange.type, [&](const MemoryRange& block) {
    ShortOp& op = add((peer - rank + own) % ranks, block);
    if (peer != rank) op.out_peer = peer;
    ++peer;
  });
  peer = 0;
  visit_places(nullptr, exchange.received, exchange.type, [&](const MemoryRange& block) {
    ShortOp& op = peer == rank ? into.short_ops[static_cast<std::size_t>(own)]
                               : add(ranks + (rank - peer + own) % ranks, block);
    op.writes = true;
    op.into = {.buffer = Buffer::output, .offset = block.begin};
    if (peer != rank) into.short_sources[op.first_source].peer = peer;
    ++peer;
  });
  return fits;
}

void copy_own_block(const Exchange& exchange, int rank) {
  const MemoryRange from = place_of(exchange.input, exchange.sent, exchange.type, rank);
  const MemoryRange to = place_of(exchange.output, exchange.received, exchange.type, rank);
  if (from.bytes > 0)
    std::memcpy(reinterpret_cast<void*>(to.begin), reinterpret_cast<const void*>(from.begin),
                from.bytes);
}

}  // namespace rondo::detail
