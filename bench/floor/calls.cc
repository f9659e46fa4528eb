#include "bench/floor/calls.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/common/buffer.h"
#include "bench/compare/pattern.h"
#include "bench/floor/flags.h"
#include "bench/floor/join.h"
#include "bench/floor/one_shot.h"
#include "kernels/cpu/reduce.h"
#include "rondo/memory.h"

namespace rondo::bench {
namespace {

/// Copies of less show no bandwidth.
constexpr std::size_t least_copied = std::size_t{64} << 10;
/// A shorter vector is not written anew before each call: reading the clock would be much of the time.
constexpr std::size_t least_refreshed = std::size_t{8} << 10;

/// Each member reads and writes so many bytes, through the caches or past them.
Trial copy_trial(std::string name, std::size_t bytes, bool streaming) {
  const auto from = std::make_shared<Buffer>(bytes);
  const auto to = std::make_shared<Buffer>(bytes);
  return repeated(std::move(name), [=] {
    if (streaming)
      rondo::copy(std::array<void*, 1>{to->data()}, from->data(), bytes, true);
    else
      std::memcpy(to->data(), from->data(), bytes);
  });
}

struct Vectors {
  float* input;
  float* output;
  std::size_t count;
};

/// `call` adds up the vectors of all members, on data that changes with every sample and is checked
/// after it. A longer vector is written anew before each call, since its way between the caches is
/// much of the time.
template <class Call>
Trial all_reduce_trial(const Member& member, std::string name, const Vectors& vectors, Call call) {
  const auto salt = std::make_shared<std::size_t>(0);
  const auto write = [=, rank = member.rank()] {
    compare::fill(vectors.input, vectors.count, *salt, rank);
  };
  Trial trial = repeated(name, call);
  trial.prepare = [=] {
    ++*salt;
    write();
  };
  if (vectors.count * sizeof(float) >= least_refreshed) trial.refresh = write;
  trial.check = [=, ranks = member.size()] {
    if (const auto wrong = compare::wrong_sums(vectors.output, vectors.count, 0, *salt, ranks))
      throw std::runtime_error(name + ": " + std::to_string(wrong) + " of " +
                               std::to_string(vectors.count) + " elements are wrong");
  };
  return trial;
}

Trial rondo_trial(const Member& member, std::string name, const Vectors& vectors,
                  Communicator& world) {
  return all_reduce_trial(member, std::move(name), vectors, [=, &world] {
    world.all_reduce(vectors.input, vectors.output, vectors.count, DataType::float32);
  });
}

}  // namespace

FloorMemory::FloorMemory(int members) : flags(Flags::bytes_for(members)), meeting(meeting_bytes) {}

struct FloorCalls::Parts {
  Parts(Member& member, FloorMemory& shared, std::size_t largest)
      : flags(member, shared.flags),
        input(largest),
        output(largest),
        window_input(allocate(largest)),
        window_output(allocate(largest)),
        heap(join(member, {.transport = "shm"})),
        windows(heap.dup()),
        wire(member, shared.meeting, "shm", {.communicator = 1}),
        by_hand(wire),
        executor(join(member, {.transport = "shm", .algorithm = "all_reduce:one_shot"})) {}

  Flags flags;
  Buffer input;
  Buffer output;
  Memory window_input;
  Memory window_output;
  Communicator heap;
  /// A communicator learns from its own calls which path is faster. So each kind of memory has its
  /// own.
  Communicator windows;
  Wire wire;
  OneShot by_hand;
  Communicator executor;  ///< it has channels of its own, like the wire's
};

FloorCalls::FloorCalls(Member& member, FloorMemory& shared, std::size_t largest)
    : member_(member), parts_(std::make_unique<Parts>(member, shared, largest)) {}

FloorCalls::~FloorCalls() = default;

std::vector<Trial> FloorCalls::trials(std::size_t bytes) {
  Parts& parts = *parts_;
  const std::size_t count = bytes / sizeof(float);
  const Vectors heap{reinterpret_cast<float*>(parts.input.data()),
                     reinterpret_cast<float*>(parts.output.data()), count};
  const Vectors windows{static_cast<float*>(parts.window_input.data()),
                        static_cast<float*>(parts.window_output.data()), count};
  std::vector<Trial> all{repeated(timed::flags, [&parts] { parts.flags.meet(); }),
                         rondo_trial(member_, timed::heap, heap, parts.heap),
                         rondo_trial(member_, timed::windows, windows, parts.windows)};
  if (bytes >= least_copied) {
    all.push_back(copy_trial(timed::copy, bytes, false));
    all.push_back(copy_trial(timed::copy_streaming, bytes, true));
  }
  if (bytes > parts.wire.slot_bytes()) return all;
  all.push_back(all_reduce_trial(member_, timed::by_hand, heap, [&parts, heap] {
    parts.by_hand.run(heap.input, heap.output, heap.count);
  }));
  all.push_back(rondo_trial(member_, timed::by_executor, heap, parts.executor));
  return all;
}

void FloorCalls::finish() {
  parts_->wire.drain();
  for (Communicator* world : {&parts_->executor, &parts_->windows, &parts_->heap})
    world->finalize();
  member_.meet();  // no member's channels go while another one uses them
}

}  // namespace rondo::bench
