// A ring all-reduce written with send and recv. all_reduce checks its result.
//
//   rondorun -n 4 ring_by_hand
//
// Each rank cuts its values into P chunks, one for each rank. In every round it sends a chunk to
// the next rank of the ring and receives one from the previous rank:
//
//   P-1 rounds: a rank adds what it receives to its own chunk. Then each rank has one whole sum.
//   P-1 rounds: a rank keeps what it receives. Then each rank has all sums.
#include <rondo/rondo.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

namespace {

/// Chunk `index` of `ranks`, counted around the ring: -1 is the last one.
std::span<double> chunk(std::span<double> values, int index, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  const auto part = static_cast<std::size_t>((index % ranks + ranks) % ranks);
  const std::size_t begin = values.size() * part / parts;
  return values.subspan(begin, values.size() * (part + 1) / parts - begin);
}

/// One round. In a group a rank can send before its neighbour receives.
void pass(rondo::Communicator& world, std::span<const double> out, std::span<double> in) {
  const int ranks = world.size();
  rondo::Group group;
  world.send(out, (world.rank() + 1) % ranks);
  world.recv(in, (world.rank() + ranks - 1) % ranks);
  group.wait();
}

void ring_all_reduce(rondo::Communicator& world, std::span<double> values) {
  const int rank = world.rank();
  const int ranks = world.size();
  std::vector<double> received(values.size());
  for (int round = 0; round < ranks - 1; ++round) {
    const auto sum = chunk(values, rank - round - 1, ranks);
    const auto in = std::span(received).first(sum.size());
    pass(world, chunk(values, rank - round, ranks), in);
    std::transform(sum.begin(), sum.end(), in.begin(), sum.begin(), std::plus<>());
  }
  for (int round = 0; round < ranks - 1; ++round)
    pass(world, chunk(values, rank + 1 - round, ranks), chunk(values, rank - round, ranks));
}

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    std::vector<double> values(1000);
    std::iota(values.begin(), values.end(),
              world.rank());  // whole numbers: every order adds exactly
    std::vector<double> expected(values.size());
    world.all_reduce(values, expected);

    const rondo::Traffic before = world.traffic();
    ring_all_reduce(world, values);
    const rondo::Traffic sent = world.traffic() - before;

    std::printf("rank %d of %d: %s all_reduce, sent %llu messages with %llu bytes\n", world.rank(),
                world.size(), values == expected ? "equal to" : "DIFFERENT FROM",
                static_cast<unsigned long long>(sent.messages),
                static_cast<unsigned long long>(sent.payload_bytes));
    world.finalize();
    return values == expected ? 0 : 1;
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
