// What rondo_floor times on one member: the machine's own limits, and rondo's all_reduce beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/floor/limits.h"
#include "bench/floor/team.h"
#include "bench/floor/trial.h"

namespace rondo::bench {

/// Names of trials, by which the report finds them.
namespace timed {
inline constexpr const char* flags = "flag exchange";
inline constexpr const char* copy = "copy, all cores";
inline constexpr const char* copy_streaming = "copy, all cores, streaming";
inline constexpr const char* sockets = "plain sockets";
inline constexpr const char* heap = "rondo, shm";
inline constexpr const char* windows = "rondo, shm, allocate()";
inline constexpr const char* tcp = "rondo, tcp";
inline std::string by_hand(const std::string& transport) {
  return "one_shot by hand, " + transport;
}
inline std::string by_executor(const std::string& transport) {
  return "one_shot by the executor, " + transport;
}
}  // namespace timed

/// Transports over which the executor is held against an algorithm by hand.
inline constexpr const char* priced_transports[] = {"shm", "tcp"};

/// What the members share. It is made before they are forked.
struct FloorMemory {
  explicit FloorMemory(int members);

  SharedMemory flags;
  SharedMemory meeting;
  SocketRing sockets;
};

/// One member's calls. Making it, and all that it does, is collective.
class FloorCalls {
 public:
  /// Throws rondo::Error, std::bad_alloc.
  FloorCalls(Member& member, FloorMemory& shared, std::size_t largest);
  ~FloorCalls();

  /// All that is timed with vectors of so many bytes. Trials refer to this.
  std::vector<Trial> trials(std::size_t bytes);
  void finish();

 private:
  struct Rondo;
  struct Priced;
  Member& member_;
  FloorMemory& shared_;
  std::unique_ptr<Rondo> rondo_;
  std::vector<std::unique_ptr<Priced>> priced_{};
};

}  // namespace rondo::bench
