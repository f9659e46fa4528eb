// Buffers that are not aligned to their elements: staged, or combined element by element in windows.
#include "tests/catch.h"
#include "tests/nccl/calls.h"
#include "tests/nccl/windows.h"

namespace rondo::test {
namespace {

constexpr std::size_t one_shot = (64 << 10) / sizeof(int);  ///< elements that every rank reduces
constexpr std::size_t half = (4 << 20) / sizeof(int);       ///< elements of a slice of one block

/// Memory for numbers, at an address that is aligned to them or to nothing.
class Placed {
 public:
  Placed(std::size_t count, bool aligned)
      : count_(count), offset_(aligned ? 0 : 1), bytes_(count * sizeof(int) + offset_) {}
  unsigned char* data() const { return bytes_.data() + offset_; }
  const Bytes& whole() const { return bytes_; }
  std::size_t bytes() const { return count_ * sizeof(int) + offset_; }
  void set(const std::vector<int>& values) const {
    device_upload(data(), values.data(), values.size() * sizeof(int));
  }
  std::vector<int> get() const {
    std::vector<int> values(count_);
    device_download(values.data(), data(), count_ * sizeof(int));
    return values;
  }

 private:
  std::size_t count_;
  std::size_t offset_;
  Bytes bytes_;
};

/// Makes the call and checks this rank's elements.
void expect_call(const Placed& in, const Placed& out, const Call& call, int rank, ncclComm_t comm) {
  constexpr int ranks = 2;
  const DeviceStream stream;
  const bool scatters = call.collective == Collective::reduce_scatter;
  const std::size_t inputs = call.count * (scatters ? ranks : 1);
  in.set(numbers(inputs, rank));
  expect(make_call(call, in.data(), out.data(), comm, stream));
  stream.finish();
  if (call.collective == Collective::reduce && rank != call.root) return;
  const std::size_t first = scatters ? call.count * static_cast<std::size_t>(rank) : 0;
  expect_sums(out.get(), ranks, first, "all of them");
}

const std::vector<std::size_t> counts{1, 10, one_shot, one_shot + 1, half + 17};

std::vector<Call> reductions() {
  std::vector<Call> calls;
  for (const std::size_t count : counts) {
    for (const Case& each : only(true, every_collective(count, 0))) {
      if (!each.in_place) calls.push_back(each.call);
    }
  }
  return calls;
}

TEST_CASE("reductions of buffers that are not aligned to their elements") {
  const int ranks = GENERATE(2, 3);
  std::vector<Case> all;
  for (const std::size_t count : counts) {
    for (Case each : only(true, every_collective(count, 0))) {
      each.offset = 1;
      all.push_back(each);
    }
  }
  check_destroyed(init_on_device(ranks), all);
}

TEST_CASE("calls from windows into buffers that are not aligned to their elements") {
  with_ranks(2, GENERATE(false, true), [&](int rank, ncclComm_t comm) {
    for (const Call& each : reductions()) {
      const bool scatters = each.collective == Collective::reduce_scatter;
      const Placed in(each.count * (scatters ? 2 : 1), true);
      const Placed out(each.count, false);
      const Window window(comm, in.whole().data(), in.bytes());
      for (int round = 0; round < 3; ++round) expect_call(in, out, each, rank, comm);
    }
  });
}

TEST_CASE("a window that is not aligned to its elements on one rank alone") {
  with_ranks(2, GENERATE(false, true), [&](int rank, ncclComm_t comm) {
    for (const Call& each : reductions()) {
      const bool scatters = each.collective == Collective::reduce_scatter;
      const Placed in(each.count * (scatters ? 2 : 1), rank == 0);
      const Placed out(each.count, true);
      const Window window(comm, in.data(), in.bytes() - (rank == 0 ? 0 : 1));
      expect_call(in, out, each, rank, comm);
    }
  });
}

TEST_CASE("scaled contributions that are not aligned to their elements", "[fake]") {
  const std::vector<int> device_of = GENERATE(std::vector<int>{0, 0}, std::vector<int>{0, 1});
  const std::size_t count = GENERATE(std::size_t{10}, half + 17);
  cuCtxSetCurrent(device_context(0));
  run_members(init_on(device_of), [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(device_of[static_cast<std::size_t>(rank)]));
    const DeviceStream stream;
    const Placed values(count, false);
    values.set(std::vector<int>(count, 1));
    int factor = rank + 2;
    ncclRedOp_t op = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&op, &factor, ncclInt, ncclScalarHostImmediate, comm));
    expect(all_reduce(values, count, comm, stream, op));
    stream.finish();
    expect_that(values.get() == std::vector<int>(count, 5), "2 + 3");
  });
}

}  // namespace
}  // namespace rondo::test
