// rondo's own all_reduce as probes, beside what the machine can do and beside algorithms by hand.
#include <cstring>
#include <optional>

#include "bench/common/buffer.h"
#include "bench/floor/all_reduce.h"
#include "bench/floor/hand_all_reduce.h"
#include "bench/floor/sources.h"
#include "rondo/memory.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

/// Collective.
Communicator join(Member& member, SharedMemory& meeting, const Options& options) {
  UniqueId id;
  if (member.rank() == 0) {
    id = make_unique_id();
    std::memcpy(meeting.data(), &id, sizeof(id));
  }
  member.meet();
  std::memcpy(&id, meeting.data(), sizeof(id));
  member.meet();  // before something else is written there
  return Communicator::from_unique_id(id, member.rank(), member.size(), options);
}

/// rondo's call, again and again.
auto all_reduce_of(Communicator& world, const Vectors& vectors) {
  return [=, &world] {
    world.all_reduce(vectors.input, vectors.output, vectors.count(), DataType::float32);
  };
}

struct Rondo {
  Rondo(Member& member, SharedMemory& meeting, std::size_t largest)
      : input(largest),
        output(largest),
        window_input(allocate(largest)),
        window_output(allocate(largest)),
        shm(join(member, meeting, {.transport = "shm"})),
        shm_windows(shm.dup()),
        tcp(join(member, meeting, {.transport = "tcp"})) {}

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

/// By hand on a wire, and by the executor on a communicator.
struct Sides {
  Sides(Member& member, SharedMemory& meeting, const std::string& transport,
        const std::string& algorithm, std::uint64_t number)
      : wire(member, meeting, transport, {.communicator = number}),
        by_hand(all_reduce_by_hand(algorithm, wire)),
        world(join(member, meeting,
                   {.transport = transport, .algorithm = "all_reduce:" + algorithm})) {}

  Wire wire;
  std::unique_ptr<HandAllReduce> by_hand;
  Communicator world;
};

}  // namespace

Source rondo_probes(Member& member, SharedMemory& meeting, std::size_t largest) {
  const auto rondo = std::make_shared<Rondo>(member, meeting, largest);
  const auto add = [rondo, &member](std::size_t bytes, std::vector<Probe>& probes) {
    const Vectors heap{reinterpret_cast<float*>(rondo->input.data()),
                       reinterpret_cast<float*>(rondo->output.data()), bytes};
    const Vectors windows{static_cast<float*>(rondo->window_input.data()),
                          static_cast<float*>(rondo->window_output.data()), bytes};
    const auto add_one = [&](const char* name, Communicator& world, const Vectors& vectors) {
      probes.push_back(all_reduce_probe(member, name, static_cast<double>(bytes), vectors,
                                        all_reduce_of(world, vectors), true));
    };
    add_one(probe::rondo_heap, rondo->shm, heap);
    add_one(probe::rondo_window, rondo->shm_windows, windows);
    add_one(probe::rondo_tcp, rondo->tcp, heap);
  };
  return {add, [rondo] {
            rondo->shm_windows.finalize();
            rondo->shm.finalize();
            rondo->tcp.finalize();
          }};
}

Source price_probes(Member& member, SharedMemory& meeting, const std::string& transport,
                    const std::string& algorithm, std::uint64_t number, const Vectors& all) {
  const auto sides = std::make_shared<Sides>(member, meeting, transport, algorithm, number);
  const auto add = [=, &member](std::size_t bytes, std::vector<Probe>& probes) {
    if (bytes > sides->by_hand->most_bytes()) return;
    const Vectors vectors{all.input, all.output, bytes};
    const auto run = [=] { sides->by_hand->run(vectors.input, vectors.output, vectors.count()); };
    probes.push_back(all_reduce_probe(member, probe::priced(transport, algorithm, probe::hand), 0,
                                      vectors, run));
    probes.push_back(all_reduce_probe(member, probe::priced(transport, algorithm, probe::executor),
                                      0, vectors, all_reduce_of(sides->world, vectors)));
  };
  return {add, [sides] {
            sides->wire.drain();
            sides->world.finalize();
          }};
}

}  // namespace rondo::bench
