// Collectives on registered windows. Are they right, in place and not, and do they read users'
// memory in place?
#include <functional>

#include "tests/catch.h"
#include "tests/nccl/kernels.h"
#include "tests/nccl/windows.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t one_shot = (64 << 10) / sizeof(int);  ///< elements that every rank reduces
constexpr std::size_t half = (4 << 20) / sizeof(int);

using Ints = std::vector<int>;

/// A rank's memory for all calls: two buffers of `count` elements for each rank, and one in front
/// of them, so that they begin within the window.
struct Memory {
  Memory(int number, int of, std::size_t elements)
      : rank(number),
        ranks(of),
        count(elements),
        all(elements * static_cast<std::size_t>(of)),
        memory(16 + 2 * all, -1) {}
  int* input() const { return memory.data() + 16; }
  int* output() const { return input() + all; }
  std::size_t size() const { return 16 + 2 * all; }
  std::size_t own() const { return static_cast<std::size_t>(rank) * count; }
  static void put(int* to, const Ints& values) {
    device_upload(to, values.data(), values.size() * sizeof(int));
  }
  static Ints get(const int* from, std::size_t elements) {
    Ints values(elements);
    device_download(values.data(), from, elements * sizeof(int));
    return values;
  }

  int rank;
  int ranks;
  std::size_t count;
  std::size_t all;
  DeviceBuffer<int> memory;
};

/// All ranks' blocks, one after the other: each has its rank's numbers from `first` on.
Ints gathered(const Memory& memory, std::size_t first = 0) {
  Ints wanted;
  for (int rank = 0; rank < memory.ranks; ++rank) {
    const Ints each = numbers(first + memory.count, rank);
    wanted.insert(wanted.end(), each.begin() + static_cast<std::ptrdiff_t>(first), each.end());
  }
  return wanted;
}

void reduce_out_of_place(const Memory& m, ncclComm_t comm, const DeviceStream& stream) {
  Memory::put(m.input(), numbers(m.all, m.rank));
  expect(ncclAllReduce(m.input(), m.output(), m.count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(Memory::get(m.output(), m.count), m.ranks, 0, "all_reduce");
  expect(ncclReduceScatter(m.input(), m.output(), m.count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(Memory::get(m.output(), m.count), m.ranks, m.own(), "reduce_scatter");
  expect_that(Memory::get(m.input(), m.all) == numbers(m.all, m.rank), "the input is as it was");
  expect(ncclReduce(m.input(), m.output(), m.count, ncclInt, ncclSum, 0, comm, stream));
  stream.finish();
  if (m.rank == 0) expect_sums(Memory::get(m.output(), m.count), m.ranks, 0, "reduce");
}

void reduce_in_place(const Memory& m, ncclComm_t comm, const DeviceStream& stream) {
  Memory::put(m.input(), numbers(m.count, m.rank));
  expect(ncclAllReduce(m.input(), m.input(), m.count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(Memory::get(m.input(), m.count), m.ranks, 0, "all_reduce in place");
  Memory::put(m.input(), numbers(m.all, m.rank));
  expect(
      ncclReduceScatter(m.input(), m.input() + m.own(), m.count, ncclInt, ncclSum, comm, stream));
  stream.finish();
  expect_sums(Memory::get(m.input() + m.own(), m.count), m.ranks, m.own(),
              "reduce_scatter in place");
}

void move(const Memory& m, ncclComm_t comm, const DeviceStream& stream) {
  Memory::put(m.input(), numbers(m.all, m.rank));
  expect(ncclAllGather(m.input(), m.output(), m.count, ncclInt, comm, stream));
  stream.finish();
  expect_that(Memory::get(m.output(), m.all) == gathered(m), "all_gather");
  Memory::put(m.output(), Ints(m.all, -1));
  Memory::put(m.output() + m.own(), numbers(m.count, m.rank));
  expect(ncclAllGather(m.output() + m.own(), m.output(), m.count, ncclInt, comm, stream));
  stream.finish();
  expect_that(Memory::get(m.output(), m.all) == gathered(m), "all_gather in place");
  expect(ncclAlltoAll(m.input(), m.output(), m.count, ncclInt, comm, stream));
  stream.finish();
  expect_that(Memory::get(m.output(), m.all) == gathered(m, m.own()), "all_to_all");
}

void move_with_root(const Memory& m, ncclComm_t comm, const DeviceStream& stream) {
  const int root = m.ranks - 1;
  Memory::put(m.input(), numbers(m.all, m.rank));
  expect(ncclBroadcast(m.input(), m.output(), m.count, ncclInt, root, comm, stream));
  stream.finish();
  expect_that(Memory::get(m.output(), m.count) == numbers(m.count, root), "broadcast");
  expect(ncclScatter(m.input(), m.output(), m.count, ncclInt, root, comm, stream));
  stream.finish();
  const Ints scattered = numbers(m.all, root);
  const auto begin = scattered.begin() + static_cast<std::ptrdiff_t>(m.own());
  expect_that(
      Memory::get(m.output(), m.count) == Ints(begin, begin + static_cast<std::ptrdiff_t>(m.count)),
      "scatter");
  expect(ncclGather(m.input(), m.output(), m.count, ncclInt, root, comm, stream));
  stream.finish();
  if (m.rank == root) expect_that(Memory::get(m.output(), m.all) == gathered(m), "gather");
}

void everything(const Memory& memory, ncclComm_t comm) {
  const DeviceStream stream;
  reduce_out_of_place(memory, comm, stream);
  reduce_in_place(memory, comm, stream);
  move(memory, comm, stream);
  move_with_root(memory, comm, stream);
}

TEST_CASE("collectives on a window are right, in place and not, whatever their size") {
  const int ranks = GENERATE(2, 3, 4, 8);
  const std::size_t count = GENERATE(
      from_range(cells<std::size_t>({1, 1001, one_shot, one_shot + 1}, {1001, one_shot + 1})));
  with_devices(ranks, [&](int rank, ncclComm_t comm) {
    const Memory memory(rank, ranks, count);
    const Window window(comm, memory.memory, memory.size());
    everything(memory, comm);
  });
  CHECK(fake_violations() == 0);
}

TEST_CASE("large collectives on a window, and on one of the buffers only") {
  using Cell = std::pair<std::size_t, int>;
  const auto [count, what] = GENERATE(from_range(
      cells<Cell>({{half + 1, 0}, {half + 1, 1}, {half + 1, 2}, {2 * half, 0}, {2 * half + 77, 0}},
                  {{half + 1, 0}, {half + 1, 1}, {half + 1, 2}})));
  with_devices(2, [&, count = count, what = what](int rank, ncclComm_t comm) {
    const Memory memory(rank, 2, count);
    int* const begin = what == 2 ? memory.output() : memory.memory.data();
    const std::size_t elements = what == 0 ? memory.size() : memory.all + (what == 1 ? 16 : 0);
    const Window window(comm, begin, elements * sizeof(int));
    everything(memory, comm);
  });
}

TEST_CASE("windows of ranks on two devices", "[fake]") {
  const EachForItself apart;
  with_unique_id(2, [](int rank, const ncclUniqueId& id) {
    cuCtxSetCurrent(device_context(rank));
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRank(&comm, 2, id, rank));
    {
      const Memory memory(rank, 2, 50'000);
      const Window window(comm, memory.memory, memory.size());
      everything(memory, comm);
    }
    expect(ncclCommDestroy(comm));
  });
}

using Collective = std::function<ncclResult_t(const Memory& memory, ncclComm_t comm, int* in,
                                              int* out, cudaStream_t stream)>;

/// Bytes that all ranks' streams copy in a call, for each byte of a block; a kernel's own reading
/// and writing is not among them.
double copied(const Memory& memory, ncclComm_t comm, bool in_place, const Collective& call) {
  const DeviceStream stream;
  const auto meet = [comm] { expect_sum(comm, 0, 0, 1); };  // on the host
  meet();
  const std::size_t before = fake_copied_bytes();
  meet();
  expect(call(memory, comm, memory.input(), in_place ? memory.input() : memory.output(), stream));
  stream.finish();
  meet();
  const std::size_t bytes = fake_copied_bytes() - before;
  meet();
  return static_cast<double>(bytes) / (static_cast<double>(memory.count) * sizeof(int));
}

TEST_CASE("how much is copied for each byte, staged and in windows", "[fake]") {
  if (lacks_kernels()) return;  // reductions would be staged
  // As the table in core/stream/README.md says, for 4 ranks.
  struct Row {
    const char* what;
    bool in_place;
    double staged;
    double in_windows;
    Collective call;
  };
  const std::vector<Row> rows{
      {"all_gather", false, 20, 16,
       [](const Memory& m, ncclComm_t comm, int* in, int* out, cudaStream_t stream) {
         return ncclAllGather(in, out, m.count, ncclInt, comm, stream);
       }},
      {"all_to_all", false, 32, 16,
       [](const Memory& m, ncclComm_t comm, int* in, int* out, cudaStream_t stream) {
         return ncclAlltoAll(in, out, m.count, ncclInt, comm, stream);
       }},
      {"all_reduce", false, 8, 3,
       [](const Memory& m, ncclComm_t comm, int* in, int* out, cudaStream_t stream) {
         return ncclAllReduce(in, out, m.count, ncclInt, ncclSum, comm, stream);
       }},
      {"all_reduce in place", true, 8, 3,
       [](const Memory& m, ncclComm_t comm, int* in, int* out, cudaStream_t stream) {
         return ncclAllReduce(in, out, m.count, ncclInt, ncclSum, comm, stream);
       }},
      {"reduce_scatter", false, 16, 0,
       [](const Memory& m, ncclComm_t comm, int* in, int* out, cudaStream_t stream) {
         return ncclReduceScatter(in, out, m.count, ncclInt, ncclSum, comm, stream);
       }},
  };
  with_devices(4, [&](int rank, ncclComm_t comm) {
    const Memory memory(rank, 4, 4 * 8192);
    for (const Row& row : rows) {
      const double staged = copied(memory, comm, row.in_place, row.call);
      const Window window(comm, memory.memory, memory.size());
      const double in_windows = copied(memory, comm, row.in_place, row.call);
      expect_that(staged == row.staged && in_windows == row.in_windows,
                  std::string(row.what) + ": " + std::to_string(staged) + " staged, " +
                      std::to_string(in_windows) + " in windows");
    }
  });
}

TEST_CASE("types, operators and factors give the same bits on windows as without") {
  with_devices(3, [](int rank, ncclComm_t comm) {
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
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    constexpr std::size_t count = 40'000;
    const DeviceBuffer<int> memory(4 * count, -1);
    int* const data = memory.data();
    const Window first(comm, data, count * sizeof(int));
    const Window second(comm, data + count, count * sizeof(int));
    for (const std::size_t at : {std::size_t{0}, count / 2, count, 3 * count}) {
      Memory::put(data + at, numbers(count, rank));
      expect(ncclAllReduce(data + at, data + at, count, ncclInt, ncclSum, comm, stream));
      stream.finish();
      expect_sums(Memory::get(data + at, count), 2, 0, "at " + std::to_string(at));
    }
  });
}

TEST_CASE("calls captured before or on a window are replayed, also when it is given back") {
  const std::size_t count = GENERATE(std::size_t{1000}, half + 10);
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Memory memory(rank, 2, count);
    const auto capture = [&] {
      return std::make_unique<CapturedGraph>(stream, [&] {
        expect(
            ncclAllReduce(memory.input(), memory.output(), count, ncclInt, ncclSum, comm, stream));
        expect(
            ncclAllReduce(memory.output(), memory.output(), count, ncclInt, ncclMax, comm, stream));
      });
    };
    const auto replay = [&](const CapturedGraph& graph, int round) {
      Memory::put(memory.input(), Ints(count, round * (rank + 1)));
      graph.launch(stream);
      graph.launch(stream);
      stream.finish();
      expect_that(Memory::get(memory.output(), count) == Ints(count, 3 * round), "the sum");
    };
    const auto before = capture();
    std::unique_ptr<CapturedGraph> within;
    {
      const Window window(comm, memory.memory, memory.size());
      within = capture();
      for (int round = 1; round < 4; ++round) {
        replay(*within, round);
        replay(*before, 10 * round);
        everything(memory, comm);
      }
    }
    replay(*within, 5);  // its window is given back, but its memory is there
    replay(*before, 6);
    everything(memory, comm);
  });
  CHECK(fake_violations() == 0);
}

TEST_CASE("a window is given back, its memory freed and used again") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    for (int round = 0; round < 3; ++round) {
      const Memory memory(rank, 2, 3000 + static_cast<std::size_t>(round));
      {
        const Window window(comm, memory.memory, memory.size());
        everything(memory, comm);
      }
      everything(memory, comm);
      const Window again(comm, memory.memory, memory.size());
      everything(memory, comm);
    }
  });
}

TEST_CASE("one thread registers windows of all ranks in a group, several of each") {
  const std::vector<ncclComm_t> comms = init_on_device(3);
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<ncclWindow_t> windows(6);
  expect(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    memories.push_back(std::make_unique<Memory>(rank, 3, 5000));
    const Memory& memory = *memories.back();
    const auto at = static_cast<std::size_t>(rank);
    expect(ncclCommWindowRegister(comms[at], memory.input(), memory.all * sizeof(int),
                                  &windows[2 * at], NCCL_WIN_COLL_SYMMETRIC));
    expect(ncclCommWindowRegister(comms[at], memory.output(), memory.all * sizeof(int),
                                  &windows[2 * at + 1], NCCL_WIN_COLL_SYMMETRIC));
  }
  expect(ncclGroupEnd());
  on_all_ranks(3, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto at = static_cast<std::size_t>(rank);
    everything(*memories[at], comms[at]);
    void* pointer = nullptr;
    expect(ncclWinGetUserPtr(comms[at], windows[2 * at + 1], &pointer));
    expect_that(pointer == memories[at]->output(), "the second window is the output");
  });
  for (std::size_t i = 0; i < windows.size(); ++i)
    expect(ncclCommWindowDeregister(comms[i / 2], windows[i]));
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
