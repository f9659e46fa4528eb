// LocalExchange: where ranks that are threads of one process find each other's channels.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/transport/doorbell.h"
#include "core/transport/ring_channel.h"

namespace rondo {

/// Shared by the ranks of a from_threads() world and the communicators split from it.
/// Every method may be called from any thread.
class LocalExchange {
 public:
  /// One direction between two ranks of one communicator in one lane.
  struct Edge {
    std::uint64_t communicator = 0;
    int from = 0;
    int to = 0;
    int lane = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };

  /// A rank of a communicator is there from join() to leave().
  void join(std::uint64_t communicator, int rank, const Doorbell& doorbell);
  void leave(std::uint64_t communicator, int rank);

  /// The ring of an edge, made by whichever end asks first; an end that already left is marked so.
  /// Throws Error{out_of_memory}.
  SharedRing ring(const Edge& edge, RingShape shape);
  /// The doorbell of a rank, or null when it is not there.
  std::shared_ptr<PeerDoorbell> doorbell(std::uint64_t communicator, int rank) const;
  /// Zeroed memory that all ranks of a communicator share, page-aligned. The rank that asks first
  /// makes it, and every rank asks for the same. `rank` is for errors: Error{out_of_memory}, or
  /// Error{internal} when the sizes differ.
  std::shared_ptr<std::byte> board(std::uint64_t communicator, int rank, std::size_t bytes);

 private:
  using Member = std::pair<std::uint64_t, int>;
  bool present(const Edge& edge, int rank) const {
    return members_.contains(Member{edge.communicator, rank});
  }

  mutable std::mutex mutex_;
  std::map<Member, std::shared_ptr<PeerDoorbell>> members_;
  std::map<Edge, SharedRing> rings_;
  struct Board {
    std::shared_ptr<std::byte> memory{};
    std::size_t bytes = 0;
  };
  std::map<std::uint64_t, Board> boards_;  ///< by communicator, until its last rank has left
};

}  // namespace rondo
