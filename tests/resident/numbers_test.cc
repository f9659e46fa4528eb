// Reproducible reductions, and those in a wider type, have the bits of contributions folded in rank
// order. Host buffers give the same bits as any path of device buffers:
//
// - co-resident kernels
// - between devices
// - in place by one thread's group
// - through the host's memory
#include "tests/catch.h"
#include "tests/execute/folded.h"
#include "tests/resident/ranks.h"

namespace rondo::test {
namespace {

/// The bytes, as device and host buffers take them.
std::vector<unsigned char> uploaded(const std::vector<std::byte>& bytes) {
  std::vector<unsigned char> copy(bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

void expect_folded(const std::vector<unsigned char>& got, const Problem& problem,
                   const std::string& what) {
  if (std::memcmp(got.data(), problem.expected.data(), got.size()) == 0) return;
  expect_that(false, what + ": " + problem.numbers.words() + " of " +
                         std::to_string(problem.expected.size()) + " bytes has other bits");
}

Call call_of(const Problem& problem) {
  const DataType type = problem.numbers.type;
  return {.count = problem.expected.size() / size_of(type),
          .collective = Collective::all_reduce,
          .type = type,
          .op = problem.numbers.op};
}

/// Problems of calls that are accumulated in the type itself, or, if `wide`, in a wider one. A
/// communicator has one setting for all calls.
std::vector<Problem> problems_of(int ranks, bool wide) {
  std::vector<Problem> all;
  for (const Numbers& numbers : all_numbers()) {
    if (wide != (numbers.accumulate != numbers.type)) continue;
    for (const std::size_t count : {std::size_t{7}, std::size_t{999}, std::size_t{35'001}})
      all.push_back(make_problem(numbers, ranks, count));
  }
  return all;
}

/// The settings of communicators that are made while it lives.
struct Mode {
  explicit Mode(bool wide)
      : reproducible("RONDO_REPRODUCIBLE", wide ? "0" : "1"),
        accumulate("RONDO_ACCUMULATE", wide ? "wide" : "type") {}
  Setting reproducible;
  Setting accumulate;
};

/// Checks device buffers, one call at a time, and the same on host buffers.
void check_alone(const std::vector<Problem>& problems, int rank, ncclComm_t comm,
                 const std::string& way) {
  const DeviceStream stream;
  for (const Problem& problem : problems) {
    const Call call = call_of(problem);
    std::vector<unsigned char> host = uploaded(problem.inputs[static_cast<std::size_t>(rank)]);
    const Bytes device(host);
    const Bytes result(std::vector<unsigned char>(host.size(), 255));
    expect(make_call(call, device.data(), result.data(), comm, stream));
    expect(make_call(call, device.data(), device.data(), comm, stream));
    stream.finish();
    expect_folded(result.get(), problem, way);
    expect_folded(device.get(), problem, way + ", in place");
    expect(make_call(call, host.data(), host.data(), comm, stream));
    expect_folded(host, problem, way + ", host buffers");
  }
}

TEST_CASE("calls between devices have the bits of rank order, by either executor") {
  const int ranks = GENERATE(2, 3, 5);
  const bool wide = GENERATE(false, true);
  const std::string executor = GENERATE("auto", "finite");
  const std::vector<Problem> problems = problems_of(ranks, wide);
  const Mode mode(wide);
  const ResidentLaunches launches;
  run_on_own(init_on_own(ranks, executor),
             [&](int rank, ncclComm_t comm) { check_alone(problems, rank, comm, executor); });
  if (executor == "finite") CHECK(launches.are(0));
}

TEST_CASE("calls through the host's memory have the bits of rank order") {
  const bool wide = GENERATE(false, true);
  const std::vector<Problem> problems = problems_of(3, wide);
  const Mode mode(wide);
  const Setting staged("RONDO_P2P_DISABLE", "1");
  run_on_own(init_on_own(3),
             [&](int rank, ncclComm_t comm) { check_alone(problems, rank, comm, "staged"); });
}

TEST_CASE("one thread's calls for all ranks have the bits of rank order") {
  const bool wide = GENERATE(false, true);
  const std::vector<int> device_of =
      placed(GENERATE(std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 0, 1}));
  const auto ranks = device_of.size();
  const Mode mode(wide);
  const std::vector<ncclComm_t> comms = init_each_on(device_of);
  const auto on = [&](std::size_t rank) { cuCtxSetCurrent(device_context(device_of[rank])); };
  std::vector<std::unique_ptr<DeviceStream>> streams;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    on(rank);
    streams.push_back(std::make_unique<DeviceStream>());
  }
  for (const Problem& problem : problems_of(static_cast<int>(ranks), wide)) {
    std::vector<std::unique_ptr<Bytes>> buffers;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      on(rank);
      buffers.push_back(std::make_unique<Bytes>(uploaded(problem.inputs[rank])));
    }
    in_group(ranks, [&](std::size_t rank) {
      on(rank);
      expect(make_call(call_of(problem), buffers[rank]->data(), buffers[rank]->data(), comms[rank],
                       *streams[rank]));
    });
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      streams[rank]->finish();
      expect_folded(buffers[rank]->get(), problem, "together");
    }
  }
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
