#include "core/transport/local_exchange.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace rondo {
namespace {

SharedRing make_ring(const LocalExchange::Edge& edge, RingShape shape) {
  const std::size_t bytes = (shape.bytes() + 127) / 128 * 128;
  // calloc() would be lazily zeroed but not aligned; only what the protocol reads first is cleared.
  SharedRing ring{{static_cast<std::byte*>(std::aligned_alloc(128, bytes)), std::free}, shape};
  if (!ring.memory) {
    throw Error(ErrorCode::out_of_memory,
                "no memory for a channel of " + std::to_string(bytes) + " bytes",
                {.rank = edge.from, .peer = edge.to, .remedy = "use a smaller RONDO_SLOT_BYTES"});
  }
  std::construct_at(&ring.view().control());
  for (std::size_t slot = 0; slot < shape.depth; ++slot) {
    std::construct_at(&ring.view().header(slot));
    std::memset(ring.view().payload(slot), 0, inline_bytes);
  }
  return ring;
}

UniqueFd duplicate(int descriptor) {
  UniqueFd copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) {
    throw Error(ErrorCode::system, "out of file descriptors",
                {.remedy = "raise the limit of open files (ulimit -n)"});
  }
  return copy;
}

std::shared_ptr<std::byte> make_board(int rank, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t whole = (bytes + page - 1) / page * page;
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(page, whole)),
                                    std::free);
  if (!memory) {
    throw Error(ErrorCode::out_of_memory,
                "no memory for the ranks' control block of " + std::to_string(bytes) + " bytes",
                {.rank = rank, .remedy = "free some memory"});
  }
  std::memset(memory.get(), 0, whole);
  return memory;
}

}  // namespace

void LocalExchange::join(std::uint64_t communicator, int rank, const Doorbell& doorbell) {
  // A mapping of its own outlives the rank: a peer may ring after the rank has left.
  std::vector<UniqueFd> passed;
  for (const int descriptor : doorbell.descriptors()) passed.push_back(duplicate(descriptor));
  auto mapped = std::make_shared<PeerDoorbell>(passed);
  const std::scoped_lock lock(mutex_);
  members_[Member{communicator, rank}] = std::move(mapped);
}

void LocalExchange::leave(std::uint64_t communicator, int rank) {
  const std::scoped_lock lock(mutex_);
  members_.erase(Member{communicator, rank});
  const auto first = members_.lower_bound(Member{communicator, 0});
  if (first == members_.end() || first->first.first != communicator) boards_.erase(communicator);
  std::erase_if(rings_, [&](const auto& entry) {
    const auto& [edge, ring] = entry;
    if (edge.communicator != communicator || (edge.from != rank && edge.to != rank)) return false;
    RingControl& control = ring.view().control();
    (edge.from == rank ? control.writer_left : control.reader_left)
        .store(1, std::memory_order_release);
    // Kept for a peer that has not asked for the frames yet.
    return !present(edge, edge.from) && !present(edge, edge.to);
  });
}

SharedRing LocalExchange::ring(const Edge& edge, RingShape shape) {
  const std::scoped_lock lock(mutex_);
  const auto found = rings_.find(edge);
  if (found != rings_.end()) return found->second;
  SharedRing ring = make_ring(edge, shape);
  RingControl& control = ring.view().control();
  if (!present(edge, edge.from)) control.writer_left.store(1, std::memory_order_release);
  if (!present(edge, edge.to)) control.reader_left.store(1, std::memory_order_release);
  rings_.emplace(edge, ring);
  return ring;
}

std::shared_ptr<PeerDoorbell> LocalExchange::doorbell(std::uint64_t communicator, int rank) const {
  const std::scoped_lock lock(mutex_);
  const auto found = members_.find(Member{communicator, rank});
  return found == members_.end() ? nullptr : found->second;
}

std::shared_ptr<std::byte> LocalExchange::board(std::uint64_t communicator, int rank,
                                                std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  Board& board = boards_[communicator];
  if (!board.memory) board = {make_board(rank, bytes), bytes};
  if (board.bytes != bytes) {
    throw Error(ErrorCode::internal,
                "ranks ask for control blocks of " + std::to_string(board.bytes) + " and " +
                    std::to_string(bytes) + " bytes",
                {.rank = rank, .remedy = "use the same rondo on every rank"});
  }
  return board.memory;
}

}  // namespace rondo
