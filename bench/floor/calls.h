// What rondo_floor times on one member: the machine's own limits, and rondo's all_reduce beside them.
#pragma once

#include <memory>
#include <vector>

#include "bench/floor/team.h"
#include "bench/floor/trial.h"

namespace rondo::bench {

/// Names of trials, by which the report finds them.
namespace timed {
inline constexpr const char* flags = "flag exchange";
inline constexpr const char* copy = "copy, all cores";
inline constexpr const char* copy_streaming = "copy, all cores, streaming";
inline constexpr const char* heap = "rondo";
inline constexpr const char* windows = "rondo, allocate()";
/// The same algorithm on the same frames of shared memory.
inline constexpr const char* by_hand = "one_shot by hand";
inline constexpr const char* by_executor = "one_shot by the executor";
}  // namespace timed

/// What the members share. It is made before they are forked.
struct FloorMemory {
  explicit FloorMemory(int members);

  SharedMemory flags;
  SharedMemory meeting;
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
  struct Parts;
  Member& member_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo::bench
