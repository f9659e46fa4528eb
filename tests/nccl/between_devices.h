// Ranks whose collectives go between devices. All have a device from the start.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/nccl/check.h"

namespace rondo::test {

/// Runs body(rank, comm) on a thread for each rank of a new communicator, with device 0's context.
template <class Body>
void with_devices(int ranks, Body&& body) {
  run_on_device(init_on_device(ranks), body);
}

/// The same, on a device each or all on one. Nothing that streams do at the same time may touch the same
/// bytes.
template <class Body>
void with_ranks(int ranks, bool across, Body&& body) {
  std::vector<int> devices(static_cast<std::size_t>(ranks), 0);
  if (across) std::iota(devices.begin(), devices.end(), 0);
  devices = placed(devices);
  const int races = fake_races();
  run_members(init_on(devices), [&](int rank, ncclComm_t comm) {
    enter(comm);
    body(rank, comm);
  });
  expect_that(fake_races() == races, "streams touch the same bytes at the same time");
}

/// Device memory of whole bytes, so that every type is served alike.
using Bytes = DeviceBuffer<unsigned char>;

/// Bytes that differ by rank and place, whatever the type. Their period divides no slice.
inline std::vector<unsigned char> pattern(std::size_t bytes, int rank, std::size_t first = 0) {
  std::vector<unsigned char> tile(9973);
  for (std::size_t i = 0; i < tile.size(); ++i)
    tile[i] = static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(rank) * 41);
  std::vector<unsigned char> values(bytes);
  for (std::size_t i = 0; i < bytes;) {
    const std::size_t within = (first + i) % tile.size();
    const std::size_t run = std::min(tile.size() - within, bytes - i);
    std::memcpy(values.data() + i, tile.data() + within, run);
    i += run;
  }
  return values;
}

using Image = std::vector<unsigned char>;

/// `ranks` blocks, one after the other; block b is `of(b)`.
template <class Of>
Image blocks(int ranks, const Of& of) {
  Image all;
  for (int block = 0; block < ranks; ++block) {
    const Image one = of(block);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

inline void expect_sums(const std::vector<int>& got, int ranks, std::size_t first,
                        const std::string& what) {
  expect_equal(got, sums_of_numbers(got.size(), ranks, first), what);
}

/// check_calls(), and destroys the communicators. Nothing that streams do at the same time may touch
/// the same bytes.
inline void check_destroyed(const std::vector<ncclComm_t>& comms, const std::vector<Case>& cases,
                            const How& how = {}) {
  const int races = fake_races();
  check_calls(comms, cases, how);
  destroy(comms);
  expect_that(fake_races() == races, "streams touch the same bytes at the same time");
}

/// Replays a captured call on new data, with other calls between the replays.
inline void replay_call(int rank, int ranks, ncclComm_t comm, Collective collective,
                        std::size_t count) {
  const Call call{.count = count, .collective = collective, .type = DataType::int32};
  const DeviceStream stream;
  const DeviceBuffer<int> other(500, 1);
  const Trial first({.call = call}, ranks, Values::whole, rank);
  DeviceBuffer<std::byte> memory(first.before(rank));
  {
    const CapturedGraph graph(stream, [&] {
      expect(make_call(first, rank, memory.data() + first.input(rank),
                       memory.data() + first.output(rank), comm, stream));
    });
    expect_that(memory.get() == first.before(rank), "nothing happens in a capture");
    for (unsigned round = 1; round < 5; ++round) {
      const Trial trial({.call = call, .salt = round}, ranks, Values::whole, rank);
      memory.set(trial.before(rank));
      graph.launch(stream);
      if (round > 2) graph.launch(stream);
      stream.finish();
      trial.check(rank, memory.get().data());
      expect(all_reduce(other, 500, comm, stream));
    }
  }
  stream.finish();
  int sum = 1;
  for (int round = 0; round < 4; ++round) sum *= ranks;
  expect_that(other.is_all(sum), "the sums between the replays");
}

inline void replay_between_calls(const std::vector<ncclComm_t>& comms, Collective collective,
                                 std::size_t count) {
  run_on_device(comms, [&](int rank, ncclComm_t comm) {
    replay_call(rank, static_cast<int>(comms.size()), comm, collective, count);
  });
}

/// Captures rank 0's `calls`, ends the communicators, then launches the graph, which must end.
template <class Calls>
void replay_behind_the_end(const std::vector<ncclComm_t>& comms, const DeviceStream& stream,
                           Calls&& calls) {
  const CapturedGraph graph(stream, calls);
  destroy(comms);
  graph.launch(stream);
  stream.finish();
}

/// Two replays of rank 0's `calls` wait for ranks that never come; revoking releases them.
template <class Calls>
void revoke_under_replays(const std::vector<ncclComm_t>& comms, const DeviceStream& stream,
                          Calls&& calls) {
  const CapturedGraph graph(stream, calls);
  graph.launch(stream);
  graph.launch(stream);
  expect(ncclCommRevoke(comms[0], NCCL_REVOKE_DEFAULT));
  stream.finish();
  abort_all(comms);
}

/// Rank 0's call in the stream waits for rank 1, which never comes; an abort releases it.
inline void abort_beside(const std::vector<ncclComm_t>& comms, const DeviceStream& stream) {
  std::thread aborts([&] { expect(ncclCommAbort(comms[0])); });
  stream.finish();
  aborts.join();
  expect(failure_of(comms[1]), ncclRemoteError);
  expect(ncclCommAbort(comms[1]));
}

/// How many batches of operations on flags, and co-resident kernels, the fake driver has counted. Only
/// what goes from device to device has either.
inline int device_parts() {
  return fake_calls("cuStreamBatchMemOp") + std::max(fake_resident_launches(), 0);
}

}  // namespace rondo::test
