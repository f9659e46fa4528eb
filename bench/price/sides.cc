#include "bench/price/sides.h"

#include <cstring>
#include <utility>

#include "bench/floor/vector_data.h"

namespace rondo::bench {
namespace {

std::unique_ptr<HandAllReduce> by_hand(const std::string& algorithm, Wire& wire) {
  if (algorithm == "ring") return ring_by_hand(wire);
  return algorithm == "two_shot" ? two_shot_by_hand(wire) : one_shot_by_hand(wire);
}

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

}  // namespace

Sides::Sides(Member& member, SharedMemory& meeting, const std::string& transport,
             const std::string& algorithm, std::uint64_t number)
    : member_(member),
      transport_(transport),
      algorithm_(algorithm),
      wire_(member, meeting, *find_transport(transport), number),
      by_hand_(by_hand(algorithm, wire_)),
      world_(join(member, meeting,
                  {.transport = transport, .algorithm = "all_reduce:" + algorithm})) {}

bool Sides::takes(std::size_t bytes) const {
  return algorithm_ != "one_shot" || bytes <= wire_.slot_bytes();
}

Trial Sides::trial(const std::string& name, std::size_t count, Vectors& vectors,
                   std::function<void()> call) {
  return {
      .name = name,
      .run =
          [call = std::move(call)](int calls) {
            for (int i = 0; i < calls; ++i) call();
          },
      .prepare = [this, count,
                  &vectors] { fill_vector(vectors.input.data(), count, ++salt_, member_.rank()); },
      .check =
          [this, name, count, &vectors] {
            check_sum(vectors.output.data(), count, salt_, member_.size(), name);
          }};
}

std::vector<Trial> Sides::trials(std::size_t bytes, Vectors& vectors) {
  const std::size_t count = bytes / sizeof(float);
  const std::string what = algorithm_ + " over " + transport_;
  std::vector<Trial> both;
  both.push_back(trial(what + " by hand", count, vectors, [this, count, &vectors] {
    by_hand_->run(vectors.input.data(), vectors.output.data(), count);
  }));
  both.push_back(trial(what + " by the executor", count, vectors, [this, count, &vectors] {
    world_.all_reduce(vectors.input.data(), vectors.output.data(), count, DataType::float32);
  }));
  return both;
}

void Sides::finalize() {
  wire_.drain();
  world_.finalize();
}

}  // namespace rondo::bench
