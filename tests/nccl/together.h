// Ranks that one thread runs on devices: their buffers, groups and launches. What tests leave out in a
// build without device kernels.
#pragma once

#include <memory>
#include <set>

#include "tests/catch.h"
#include "tests/nccl/device.h"

namespace rondo::test {

/// Values that differ by rank and place, and are exact in all types but the 8-bit floats.
template <class T>
std::vector<T> values(std::size_t count, int rank) {
  std::vector<T> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<T>(static_cast<int>(i % 7) + rank + 1);
  return made;
}

/// What a rank has on the current device: a stream, its values as input, and an output of 99s.
template <class T>
struct Rank {
  Rank(int rank, std::size_t input, std::size_t output)
      : in(values<T>(input, rank)), out(output, static_cast<T>(99)) {}
  DeviceStream stream{};
  DeviceBuffer<T> in;
  DeviceBuffer<T> out;
};

template <class T>
using Ranks = std::vector<std::unique_ptr<Rank<T>>>;

/// `device_of`: by rank.
template <class T>
Ranks<T> make_ranks(const std::vector<int>& device_of, std::size_t in, std::size_t out) {
  Ranks<T> ranks;
  for (std::size_t rank = 0; rank < device_of.size(); ++rank) {
    cuCtxSetCurrent(device_context(device_of[rank]));
    ranks.push_back(std::make_unique<Rank<T>>(static_cast<int>(rank), in, out));
  }
  cuCtxSetCurrent(device_context(device_of.front()));
  return ranks;
}

/// Makes each rank with its device current, as programs do that go from device to device.
inline std::vector<ncclComm_t> init_each_on(const std::vector<int>& device_of) {
  std::vector<ncclComm_t> comms(device_of.size());
  ncclUniqueId id = new_id();
  expect(ncclGroupStart());
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    cuCtxSetCurrent(device_context(device_of[rank]));
    expect(
        ncclCommInitRank(&comms[rank], static_cast<int>(comms.size()), id, static_cast<int>(rank)));
  }
  expect(ncclGroupEnd());
  return comms;
}

template <class Call>
void in_group(std::size_t ranks, const Call& call) {
  expect(ncclGroupStart());
  for (std::size_t rank = 0; rank < ranks; ++rank) call(rank);
  expect(ncclGroupEnd());
}

template <class T>
void finish(const Ranks<T>& ranks) {
  for (const auto& rank : ranks) rank->stream.finish();
}

/// The sums of all ranks' values.
inline std::vector<int> sums_of_values(std::size_t count, int ranks) {
  std::vector<int> sums(count);
  for (std::size_t i = 0; i < count; ++i)
    sums[i] = static_cast<int>(i % 7) * ranks + ranks * (ranks + 1) / 2;
  return sums;
}

/// The ranks of a communicator, with inputs and outputs of `count` values.
struct Together {
  Together(const std::vector<ncclComm_t>& made, const std::vector<int>& device_of,
           std::size_t elements)
      : comms(made), ranks(make_ranks<int>(device_of, elements, elements)), count(elements) {}
  Together(const std::vector<int>& device_of, std::size_t elements)
      : Together(init_on(device_of), device_of, elements) {}

  /// One rank's call, from its input to its output.
  ncclResult_t reduce(std::size_t rank, ncclRedOp_t op = ncclSum) const {
    const Rank<int>& mine = *ranks[rank];
    return ncclAllReduce(mine.in.data(), mine.out.data(), count, ncclInt, op, comms[rank],
                         mine.stream);
  }
  /// All ranks' calls in one group, whose end returns their errors, too.
  ncclResult_t reduce_all(ncclRedOp_t op = ncclSum) const {
    expect(ncclGroupStart());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) reduce(rank, op);
    return ncclGroupEnd();
  }
  void finish() const { test::finish(ranks); }
  void expect_outputs(const std::vector<int>& wanted) const {
    for (const auto& rank : ranks) expect_that(rank->out.get() == wanted, "every rank's output");
  }
  void expect_sums() const {
    expect_outputs(sums_of_values(count, static_cast<int>(ranks.size())));
  }

  std::vector<ncclComm_t> comms;
  Ranks<int> ranks;
  std::size_t count;
};

/// Whether device kernels are in this build.
inline constexpr bool has_kernels = RONDO_WITH_KERNELS != 0;

/// For a case that is about kernels: says that it is left out, where there are none.
inline bool lacks_kernels() {
  if (!has_kernels) WARN("left out: this build has no device kernels");
  return !has_kernels;
}

/// Counts kernels from when it is made. In a build without any, calls take another way instead.
class Launches {
 public:
  /// Whether `number` kernels have run, or none in a build without kernels.
  bool are(int number) const {
    if (before_ < 0) return true;  // a real driver does not tell
    return fake_launches() - before_ == (has_kernels ? number : 0);
  }

 private:
  int before_ = fake_launches();
};

inline int devices_in(const std::vector<int>& device_of) {
  return static_cast<int>(std::set<int>(device_of.begin(), device_of.end()).size());
}

}  // namespace rondo::test
