#include "bench/floor/rondo_probes.h"

#include <cstring>
#include <utility>

#include "bench/floor/vector_data.h"

namespace rondo::bench {

RondoProbes::RondoProbes(Member& member, SharedMemory& meeting, std::size_t largest)
    : member_(member),
      meeting_(meeting),
      input_(largest),
      output_(largest),
      window_input_(allocate(largest)),
      window_output_(allocate(largest)),
      shm_(join("shm")),
      shm_windows_(shm_.dup()),
      tcp_(join("tcp")) {}

Communicator RondoProbes::join(const char* transport) {
  UniqueId id;
  if (member_.rank() == 0) {
    id = make_unique_id();
    std::memcpy(meeting_.data(), &id, sizeof(id));
  }
  member_.meet();
  std::memcpy(&id, meeting_.data(), sizeof(id));
  member_.meet();  // before the next id is written
  return Communicator::from_unique_id(id, member_.rank(), member_.size(), {.transport = transport});
}

void RondoProbes::add(const char* name, Communicator& world, std::size_t bytes, float* input,
                      float* output, std::vector<Probe>& probes) {
  const std::size_t count = bytes / sizeof(float);
  const auto rewrite = [=, this] { fill_vector(input, count, salt_, member_.rank()); };
  Trial trial{.run =
                  [=, &world](int calls) {
                    for (int call = 0; call < calls; ++call) {
                      world.all_reduce(input, output, count, DataType::float32);
                    }
                  },
              .prepare = [=, this] { fill_vector(input, count, ++salt_, member_.rank()); },
              .refresh = bytes < least_refreshed ? std::function<void()>() : rewrite,
              .check = [=, this] { check_sum(output, count, salt_, member_.size(), name); }};
  probes.push_back({name, bytes, static_cast<double>(bytes), std::move(trial)});
}

void RondoProbes::add(std::size_t bytes, std::vector<Probe>& probes) {
  auto* const input = reinterpret_cast<float*>(input_.data());
  auto* const output = reinterpret_cast<float*>(output_.data());
  add(probe::rondo_heap, shm_, bytes, input, output, probes);
  add(probe::rondo_window, shm_windows_, bytes, static_cast<float*>(window_input_.data()),
      static_cast<float*>(window_output_.data()), probes);
  add(probe::rondo_tcp, tcp_, bytes, input, output, probes);
}

void RondoProbes::finalize() {
  shm_windows_.finalize();
  shm_.finalize();
  tcp_.finalize();
}

}  // namespace rondo::bench
