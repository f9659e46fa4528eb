// Groups in which one thread makes the calls of all ranks, mixed with calls between devices that
// ranks make by themselves, on the same communicator. They keep their order, whatever their
// streams.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

/// Two ranks with two streams each: `ranks` have those for joint calls, `single` those for the rest.
struct Pair : Together {
  explicit Pair(const std::vector<int>& device_of)
      : Together(init_each_on(device_of), device_of, 1000),
        single(make_ranks<int>(device_of, 1, 1)) {}

  /// Sums all inputs into all outputs, or, if `back`, the outputs into the inputs.
  void sum(std::size_t rank, const Ranks<int>& streams, bool back) const {
    int* const in = ranks[rank]->in.data();
    int* const out = ranks[rank]->out.data();
    expect(ncclAllReduce(back ? out : in, back ? in : out, count, ncclInt, ncclSum, comms[rank],
                         streams[rank]->stream));
  }
  void sum_together(bool back) const {
    in_group(2, [&](std::size_t rank) { sum(rank, ranks, back); });
  }
  void sum_apart(bool back) const {
    for (std::size_t rank = 0; rank < 2; ++rank) sum(rank, single, back);
  }
  /// Sums there and back, once together and once apart.
  void sum_twice(bool together_first) const {
    if (together_first) {
      sum_together(false);
      sum_apart(true);
    } else {
      sum_apart(false);
      sum_together(true);
    }
  }
  void finish_all() const {
    finish();
    test::finish(single);
  }
  /// The outputs are the sums of the first inputs, doubled `times` times, and the inputs once more.
  void check_doubled(int times) const {
    std::vector<int> sums = sums_of_values(count, 2);
    for (int& each : sums) each <<= times;
    for (const auto& rank : ranks) CHECK(rank->out.get() == sums);
    for (int& each : sums) each *= 2;
    for (const auto& rank : ranks) CHECK(rank->in.get() == sums);
  }

  Ranks<int> single;
};

/// Whether single calls have gone from device to device since there were `before` batches. True
/// also where nobody counts, or where there are no kernels for it.
bool went_between_devices(int before) {
  return !has_kernels || fake_launches() < 0 || device_parts() > before;
}

TEST_CASE("one thread's groups and single calls between devices follow each other", "[together]") {
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0}, std::vector<int>{0, 1}));
  const bool together_first = GENERATE(true, false);
  const std::size_t late = GENERATE(0U, 1U);  // the rank whose stream keeps the first call waiting
  const Pair pair(device_of);
  const int before = device_parts();
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> there = pair.ranks[late]->in.get();
    cuCtxSetCurrent(device_context(device_of[late]));
    StreamGate gate((together_first ? pair.ranks : pair.single)[late]->stream);
    pair.sum_twice(together_first);
    CHECK(pair.ranks[late]->in.get() == there);
    gate.open();
    pair.finish_all();
  }
  pair.check_doubled(4);
  CHECK(went_between_devices(before));
  destroy(pair.comms);
}

/// `stream` waits for what is in `other`, of the same context.
void follow(cudaStream_t stream, cudaStream_t other) {
  const cuda::OwnedEvent event = cuda::make_event();
  expect_cuda(cuEventRecord(event.get(), other));
  expect_cuda(cuStreamWaitEvent(stream, event.get(), 0));
}

TEST_CASE("one thread's groups and single calls keep their order in a capture and after replays",
          "[together]") {
  const bool together_first = GENERATE(true, false);
  const Pair pair(placed({0, 0}));
  const cudaStream_t first = pair.ranks[0]->stream;
  const std::vector<cudaStream_t> others{pair.ranks[1]->stream, pair.single[0]->stream,
                                         pair.single[1]->stream};
  const int before = device_parts();
  pair.sum_twice(together_first);
  pair.finish_all();
  {
    const CapturedGraph graph(first, [&] {
      for (const cudaStream_t other : others) follow(other, first);
      pair.sum_twice(together_first);
      for (const cudaStream_t other : others) follow(first, other);
    });
    for (int round = 0; round < 2; ++round) graph.launch(first);
    pair.sum_twice(!together_first);
    pair.finish_all();
  }
  pair.check_doubled(6);
  CHECK(went_between_devices(before));
  destroy(pair.comms);
}

}  // namespace
}  // namespace rondo::test
