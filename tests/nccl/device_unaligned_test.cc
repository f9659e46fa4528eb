// Buffers that are not aligned to their elements. Kernels need alignment, so these are staged.
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

struct Case {
  Collective collective;
  std::size_t count;
};

/// Makes the call and checks this rank's elements.
void expect_call(const Placed& in, const Placed& out, const Case& each, int rank, ncclComm_t comm,
                 int ranks) {
  const DeviceStream stream;
  const bool scatters = each.collective == Collective::reduce_scatter;
  const std::size_t inputs = each.count * static_cast<std::size_t>(scatters ? ranks : 1);
  const Call call{.count = each.count,
                  .collective = each.collective,
                  .type = DataType::int32,
                  .op = ReduceOperator::sum};
  in.set(numbers(inputs, rank));
  expect(make_call(call, in.data(), out.data(), comm, stream));
  stream.finish();
  if (each.collective == Collective::reduce && rank != call.root) return;
  const std::size_t first = scatters ? each.count * static_cast<std::size_t>(rank) : 0;
  expect_sums(out.get(), ranks, first, "all of them");
}

const std::vector<Case> cases{{Collective::all_reduce, 10},
                              {Collective::all_reduce, one_shot},
                              {Collective::all_reduce, one_shot + 1},
                              {Collective::all_reduce, half + 17},
                              {Collective::reduce_scatter, 1},
                              {Collective::reduce_scatter, half + 17},
                              {Collective::reduce, 10},
                              {Collective::reduce, half + 17}};

TEST_CASE("reductions of buffers that are not aligned to their elements") {
  const int ranks = GENERATE(2, 3);
  with_devices(ranks, [&](int rank, ncclComm_t comm) {
    for (const Case& each : cases) {
      for (const bool in_place : {false, true}) {
        const bool scatters = each.collective == Collective::reduce_scatter;
        if (scatters && in_place) continue;
        const Placed in(each.count * static_cast<std::size_t>(scatters ? ranks : 1), false);
        const Placed out(each.count, false);
        expect_call(in, in_place ? in : out, each, rank, comm, ranks);
      }
    }
  });
  CHECK(fake_violations() == 0);
}

TEST_CASE("calls from windows into buffers that are not aligned to their elements") {
  with_two(GENERATE(false, true), [&](int rank, ncclComm_t comm) {
    for (const Case& each : cases) {
      const bool scatters = each.collective == Collective::reduce_scatter;
      const Placed in(each.count * (scatters ? 2 : 1), true);
      const Placed out(each.count, false);
      const Window window(comm, in.whole().data(), in.bytes());
      for (int round = 0; round < 3; ++round) expect_call(in, out, each, rank, comm, 2);
    }
  });
}

TEST_CASE("a window that is not aligned to its elements on one rank alone is staged on all") {
  with_two(false, [&](int rank, ncclComm_t comm) {
    for (const Case& each : cases) {
      const bool scatters = each.collective == Collective::reduce_scatter;
      const Placed in(each.count * (scatters ? 2 : 1), rank == 0);
      const Placed out(each.count, true);
      const Window window(comm, in.data(), in.bytes() - (rank == 0 ? 0 : 1));
      expect_call(in, out, each, rank, comm, 2);
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
    expect(ncclAllReduce(values.data(), values.data(), count, ncclInt, op, comm, stream));
    stream.finish();
    expect_that(values.get() == std::vector<int>(count, 5), "2 + 3");
  });
}

}  // namespace
}  // namespace rondo::test
