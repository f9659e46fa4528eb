#include "bench/floor/calls.h"

#include <stdexcept>
#include <utility>

#include "bench/common/buffer.h"
#include "bench/compare/pattern.h"
#include "bench/floor/flags.h"
#include "bench/floor/join.h"
#include "bench/floor/one_shot.h"
#include "rondo/memory.h"

namespace rondo::bench {
namespace {

/// Copies of less show no bandwidth.
constexpr std::size_t least_copied = std::size_t{64} << 10;
/// A shorter vector is not written anew before each call: reading the clock would be much of the time.
constexpr std::size_t least_refreshed = std::size_t{8} << 10;

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

FloorMemory::FloorMemory(int members)
    : flags(Flags::bytes_for(members)), meeting(meeting_bytes), sockets(members) {}

struct FloorCalls::Rondo {
  Rondo(Member& member, FloorMemory& shared, std::size_t largest)
      : flags(member, shared.flags),
        input(largest),
        output(largest),
        window_input(allocate(largest)),
        window_output(allocate(largest)),
        shm(join(member, {.transport = "shm"})),
        shm_windows(shm.dup()),
        tcp(join(member, {.transport = "tcp"})) {}

  Vectors heap(std::size_t bytes) {
    return {reinterpret_cast<float*>(input.data()), reinterpret_cast<float*>(output.data()),
            bytes / sizeof(float)};
  }
  Vectors windows(std::size_t bytes) {
    return {static_cast<float*>(window_input.data()), static_cast<float*>(window_output.data()),
            bytes / sizeof(float)};
  }

  Flags flags;
  Buffer input;
  Buffer output;
  Memory window_input;
  Memory window_output;
  Communicator shm;
  /// A communicator learns from its own calls which path is faster. So each kind of memory has its
  /// own.
  Communicator shm_windows;
  Communicator tcp;
};

/// The same algorithm by hand on a wire, and by the executor; each has channels of its own, alike.
struct FloorCalls::Priced {
  Priced(Member& member, FloorMemory& shared, const std::string& over, std::uint64_t number)
      : transport(over),
        wire(member, shared.meeting, over, {.communicator = number}),
        by_hand(wire),
        world(join(member, {.transport = over, .algorithm = "all_reduce:one_shot"})) {}

  std::string transport;
  Wire wire;
  OneShot by_hand;
  Communicator world;
};

FloorCalls::FloorCalls(Member& member, FloorMemory& shared, std::size_t largest)
    : member_(member), shared_(shared), rondo_(std::make_unique<Rondo>(member, shared, largest)) {
  for (const char* transport : priced_transports)
    priced_.push_back(std::make_unique<Priced>(member, shared, transport, priced_.size() + 1));
}

FloorCalls::~FloorCalls() = default;

std::vector<Trial> FloorCalls::trials(std::size_t bytes) {
  const Vectors heap = rondo_->heap(bytes);
  std::vector<Trial> all{
      repeated(timed::flags, [this] { rondo_->flags.meet(); }),
      shared_.sockets.trial(timed::sockets, member_, bytes),
      rondo_trial(member_, timed::heap, heap, rondo_->shm),
      rondo_trial(member_, timed::windows, rondo_->windows(bytes), rondo_->shm_windows),
      rondo_trial(member_, timed::tcp, heap, rondo_->tcp)};
  if (bytes >= least_copied) {
    all.push_back(copy_trial(timed::copy, bytes, false));
    all.push_back(copy_trial(timed::copy_streaming, bytes, true));
  }
  for (const auto& priced : priced_) {
    if (bytes > priced->wire.slot_bytes()) continue;
    all.push_back(all_reduce_trial(
        member_, timed::by_hand(priced->transport), heap,
        [=, own = priced.get()] { own->by_hand.run(heap.input, heap.output, heap.count); }));
    all.push_back(rondo_trial(member_, timed::by_executor(priced->transport), heap, priced->world));
  }
  return all;
}

void FloorCalls::finish() {
  for (const auto& priced : priced_) {
    priced->wire.drain();
    priced->world.finalize();
  }
  rondo_->shm_windows.finalize();
  rondo_->shm.finalize();
  rondo_->tcp.finalize();
  member_.meet();  // no member's channels go while another one uses them
}

}  // namespace rondo::bench
