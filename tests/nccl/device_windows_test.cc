// Collectives on registered windows. Are they right, in place and not, and do they read users'
// memory in place?

#include "tests/catch.h"
#include "tests/nccl/together.h"
#include "tests/nccl/windows.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t one_shot = (64 << 10) / sizeof(int);  ///< elements that every rank reduces
constexpr std::size_t half = (4 << 20) / sizeof(int);

using Ints = std::vector<int>;

void put(int* to, const Ints& values) {
  device_upload(to, values.data(), values.size() * sizeof(int));
}
Ints get(const int* from, std::size_t elements) {
  Ints values(elements);
  device_download(values.data(), from, elements * sizeof(int));
  return values;
}

TEST_CASE("collectives on a window are right, in place and not, whatever their size") {
  const int ranks = GENERATE(from_range(cells<int>({2, 3, 4, 8}, {3})));
  const std::size_t count =
      GENERATE(from_range(cells<std::size_t>({1, 1001, one_shot + 1, 50'000}, {1001, 50'000})));
  check_destroyed(init_on(own_devices(ranks)), every_collective(count, ranks - 1),
                  {.windows = Windows::one});
}

TEST_CASE("large collectives on a window, on two, and on one of the buffers only") {
  const std::size_t count =
      GENERATE(from_range(cells<std::size_t>({half + 1, 2 * half, 2 * half + 77}, {half + 1})));
  const Windows windows = GENERATE(Windows::one, Windows::two, Windows::input, Windows::output);
  if (count != half + 1 && windows != Windows::one) return;
  if (is_sanitized && (windows == Windows::two || windows == Windows::input)) return;
  check_destroyed(init_on({0, 1}), every_collective(count, 1), {.windows = windows});
}

TEST_CASE("windows of ranks that share a device", "[fake]") {
  check_destroyed(init_on_device(2), every_collective(50'000, 1), {.windows = Windows::one});
}

TEST_CASE("kernels use windows, and streams copy nothing", "[fake]") {
  if (lacks_kernels()) return;
  constexpr std::size_t count = 4 * 8192;
  for (const Collective collective : {Collective::all_gather, Collective::all_to_all,
                                      Collective::all_reduce, Collective::reduce_scatter}) {
    const bool is_whole = collective == Collective::all_reduce;
    const Call call{
        .count = is_whole ? 4 * count : count, .collective = collective, .type = DataType::int32};
    const int before = fake_window_launches();
    const std::size_t copied = fake_copied_bytes();
    with_ranks(4, true, [&](int, ncclComm_t comm) {
      const DeviceStream stream;
      const DeviceBuffer<int> memory(8 * count, -1);
      int* const output = memory.data() + 4 * count;
      expect(make_call(call, memory.data(), output, comm, stream));  // not in windows
      const Window window(comm, memory, 8 * count);
      expect(make_call(call, memory.data(), output, comm, stream));
      if (collective != Collective::all_to_all) {
        int rank = 0;
        expect(ncclCommUserRank(comm, &rank));
        const auto own = static_cast<std::size_t>(rank) * count;
        const bool gathers = collective == Collective::all_gather;
        const bool scatters = collective == Collective::reduce_scatter;
        expect(make_call(call, memory.data() + (gathers ? own : 0),
                         memory.data() + (scatters ? own : 0), comm, stream));
      }
      stream.finish();
    });
    INFO(to_string(call));
    CHECK(fake_window_launches() - before == (collective == Collective::all_to_all ? 4 : 8));
    CHECK(fake_copied_bytes() - copied < call.count * sizeof(int));  // but programs
  }
}

TEST_CASE("types, operators and factors give the same bits on windows as without") {
  with_ranks(3, true, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    constexpr std::size_t count = 50'000;
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = 1.0F / static_cast<float>(1 + i % 977 + static_cast<std::size_t>(rank) * 13);
    const DeviceBuffer<float> in(values);
    DeviceBuffer<float> out(count, 0);
    const float factor = 0.3F + static_cast<float>(rank);
    ncclRedOp_t scaled = ncclSum;
    expect(ncclRedOpCreatePreMulSum(&scaled, const_cast<float*>(&factor), ncclFloat,
                                    ncclScalarHostImmediate, comm));
    for (const ncclRedOp_t op : {ncclSum, ncclAvg, ncclProd, ncclMin, scaled}) {
      for (const std::size_t bytes : {std::size_t{1000}, count}) {
        const auto call = [&] {
          expect(ncclAllReduce(in.data(), out.data(), bytes, ncclFloat, op, comm, stream));
          stream.finish();
          return out.get();
        };
        const std::vector<float> staged = call();
        const Window first(comm, in, count);
        const Window second(comm, out, count);
        expect_that(call() == staged, "operator " + std::to_string(static_cast<int>(op)));
      }
    }
  });
}

TEST_CASE("two windows in one allocation, a buffer across both of them, and one beside them") {
  with_ranks(2, true, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    constexpr std::size_t count = 40'000;
    const DeviceBuffer<int> memory(4 * count, -1);
    int* const data = memory.data();
    const Window first(comm, data, count * sizeof(int));
    const Window second(comm, data + count, count * sizeof(int));
    for (const std::size_t at : {std::size_t{0}, count / 2, count, 3 * count}) {
      put(data + at, numbers(count, rank));
      expect(ncclAllReduce(data + at, data + at, count, ncclInt, ncclSum, comm, stream));
      stream.finish();
      expect_sums(get(data + at, count), 2, 0, "at " + std::to_string(at));
    }
  });
}

TEST_CASE("calls captured before or on a window are replayed, also when it is given back") {
  const std::size_t count = GENERATE(std::size_t{1000}, std::size_t{40'000}, half + 10);
  with_ranks(2, true, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> memory(2 * count, -1);
    int* const input = memory.data();
    int* const output = input + count;
    const auto capture = [&] {
      return std::make_unique<CapturedGraph>(stream, [&] {
        expect(ncclAllReduce(input, output, count, ncclInt, ncclSum, comm, stream));
        expect(ncclAllReduce(output, output, count, ncclInt, ncclMax, comm, stream));
      });
    };
    const auto replay = [&](const CapturedGraph& graph, int round) {
      put(input, Ints(count, round * (rank + 1)));
      graph.launch(stream);
      graph.launch(stream);
      stream.finish();
      expect_that(get(output, count) == Ints(count, 3 * round), "the sum");
    };
    const std::vector<Case> others = every_collective(count, 1);
    const auto before = capture();
    std::unique_ptr<CapturedGraph> within;
    {
      const Window window(comm, memory, 2 * count);
      within = capture();
      for (int round = 1; round < 4; ++round) {
        replay(*within, round);
        replay(*before, 10 * round);
        check_calls(rank, 2, comm, {others[static_cast<std::size_t>(round)]},
                    {.windows = Windows::one});
      }
    }
    replay(*within, 5);  // its window is given back, but its memory is there
    replay(*before, 6);
    check_calls(rank, 2, comm, {others[0]});
  });
}

TEST_CASE("a window is given back, its memory freed and used again") {
  const std::vector<ncclComm_t> comms = init_on({0, 1});
  const int before = fake_window_launches();
  for (std::size_t round = 0; round < 3; ++round) {
    for (const Windows windows : {Windows::one, Windows::none, Windows::two})
      check_calls(comms, every_collective(20'000 + round, 1), {.windows = windows});
  }
  CHECK((fake_window_launches() > before) == has_kernels);
  destroy(comms);
}

TEST_CASE("one thread registers windows of all ranks in a group, several of each") {
  const std::vector<ncclComm_t> comms = init_on(own_devices(3));
  std::vector<std::unique_ptr<DeviceBuffer<int>>> memories;
  std::vector<ncclWindow_t> windows(6);
  constexpr std::size_t count = 40'000;
  const int before = fake_window_launches();
  expect(ncclGroupStart());
  for (std::size_t at = 0; at < 3; ++at) {
    cuCtxSetCurrent(device_context(static_cast<int>(at)));
    memories.push_back(std::make_unique<DeviceBuffer<int>>(2 * count, 0));
    for (const std::size_t which : {0U, 1U})
      expect(ncclCommWindowRegister(comms[at], memories[at]->data() + which * count,
                                    count * sizeof(int), &windows[2 * at + which],
                                    NCCL_WIN_COLL_SYMMETRIC));
  }
  expect(ncclGroupEnd());
  each_member(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(rank));
    const auto at = static_cast<std::size_t>(rank);
    const DeviceStream stream;
    device_upload(memories[at]->data(), numbers(count, rank).data(), count * sizeof(int));
    expect(ncclAllReduce(memories[at]->data(), memories[at]->data() + count, count, ncclInt,
                         ncclSum, comm, stream));
    stream.finish();
    expect_sums(get(memories[at]->data() + count, count), 3, 0, "all_reduce");
    void* pointer = nullptr;
    expect(ncclWinGetUserPtr(comm, windows[2 * at + 1], &pointer));
    expect_that(pointer == memories[at]->data() + count, "the second window is the second half");
  });
  CHECK(fake_window_launches() - before == (has_kernels ? 3 : 0));
  for (std::size_t i = 0; i < windows.size(); ++i)
    expect(ncclCommWindowDeregister(comms[i / 2], windows[i]));
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
