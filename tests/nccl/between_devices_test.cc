// Collectives between devices, without the host's memory. Are they right, do they take that path,
// and do they keep their stream's order?
#include "tests/nccl/between_devices.h"

#include "tests/catch.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t half = std::size_t{4} << 20;  ///< bytes of a slice of one block

/// One call of each collective that only moves, out of place and in place.
void move_everything(int rank, int ranks, std::size_t bytes, ncclComm_t comm) {
  const DeviceStream stream;
  const auto own = static_cast<std::size_t>(rank) * bytes;
  const std::size_t all = bytes * static_cast<std::size_t>(ranks);
  const int root = ranks - 1;
  const Image mine = pattern(bytes, rank);
  const Image nothing(bytes, 255);
  const Bytes one(mine);
  const Bytes each(pattern(all, rank));
  Bytes block(nothing);
  Bytes every(Image(all, 255));
  const Image gathered = blocks(ranks, [&](int from) { return pattern(bytes, from); });
  const Image exchanged = blocks(ranks, [&](int from) { return pattern(bytes, from, own); });

  expect(ncclBroadcast(one.data(), block.data(), bytes, ncclUint8, root, comm, stream));
  stream.finish();
  expect_bytes(block.get(), pattern(bytes, root), "broadcast");
  expect(ncclAllGather(one.data(), every.data(), bytes, ncclUint8, comm, stream));
  stream.finish();
  expect_bytes(every.get(), gathered, "all_gather");
  expect(ncclAlltoAll(each.data(), every.data(), bytes, ncclUint8, comm, stream));
  stream.finish();
  expect_bytes(every.get(), exchanged, "all_to_all");
  expect(ncclScatter(each.data(), block.data(), bytes, ncclUint8, root, comm, stream));
  stream.finish();
  expect_bytes(block.get(), pattern(bytes, root, own), "scatter");
  every.set(Image(all, 255));
  expect(ncclGather(one.data(), every.data(), bytes, ncclUint8, root, comm, stream));
  stream.finish();
  expect_bytes(every.get(), rank == root ? gathered : Image(all, 255), "gather");

  every.set(blocks(ranks, [&](int from) { return from == rank ? mine : nothing; }));
  expect(ncclAllGather(every.data() + own, every.data(), bytes, ncclUint8, comm, stream));
  stream.finish();
  expect_bytes(every.get(), gathered, "all_gather in place");
  expect(ncclBroadcast(one.data(), one.data(), bytes, ncclUint8, 0, comm, stream));
  stream.finish();
  expect_bytes(one.get(), pattern(bytes, 0), "broadcast in place");
}

TEST_CASE("collectives that only move data go from device to device, whatever their size") {
  const int ranks = GENERATE(2, 3, 4);
  const std::size_t part = half / static_cast<std::size_t>(ranks);
  const std::size_t bytes = GENERATE_COPY(from_range(
      cells<std::size_t>({1, 4099, part - 1, part + 1}, {4099, ranks == 3 ? part + 1 : 1})));
  const int before = batches();
  const int copied = fake_calls("cuLaunchHostFunc");
  with_devices(ranks,
               [&](int rank, ncclComm_t comm) { move_everything(rank, ranks, bytes, comm); });
  CHECK((batches() > before || fake_launches() < 0));
  CHECK(fake_calls("cuLaunchHostFunc") == copied);
  CHECK(fake_violations() == 0);
}

TEST_CASE("the most ranks that may take part go from device to device", "[fake]") {
  constexpr int ranks = 32;
  const int copied = fake_calls("cuLaunchHostFunc");
  with_devices(ranks, [&](int rank, ncclComm_t comm) {
    move_everything(rank, ranks, 300, comm);
    const DeviceStream stream;
    const Bytes sent(pattern(300 * ranks, rank));
    const Bytes received(Image(300 * ranks, 255));
    expect(ncclGroupStart());
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = 300 * static_cast<std::size_t>(peer);
      expect(ncclSend(sent.data() + at, 300, ncclUint8, peer, comm, stream));
      expect(ncclRecv(received.data() + at, 300, ncclUint8, peer, comm, stream));
    }
    expect(ncclGroupEnd());
    stream.finish();
    const std::size_t own = 300 * static_cast<std::size_t>(rank);
    expect_bytes(received.get(), blocks(ranks, [&](int from) { return pattern(300, from, own); }),
                 "messages");
  });
  CHECK(fake_calls("cuLaunchHostFunc") == copied);
  CHECK(fake_violations() == 0);
}

TEST_CASE("calls of many slices use both halves in turn") {
  const std::size_t bytes = GENERATE(
      from_range(cells<std::size_t>({half, half + 1, 2 * half, 5 * half / 2}, {2 * half + 1})));
  with_devices(2, [&](int rank, ncclComm_t comm) { move_everything(rank, 2, bytes, comm); });
  CHECK(fake_violations() == 0);
}

TEST_CASE("every type's size and every root") {
  with_devices(3, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    for (const auto& [type, size] : std::vector<std::pair<ncclDataType_t, std::size_t>>{
             {ncclInt8, 1}, {ncclBfloat16, 2}, {ncclFloat, 4}, {ncclDouble, 8}}) {
      for (int root = 0; root < 3; ++root) {
        const Bytes buffer(pattern(1000 * size, rank));
        expect(ncclBroadcast(buffer.data(), buffer.data(), 1000, type, root, comm, stream));
        stream.finish();
        expect_bytes(buffer.get(), pattern(1000 * size, root), "broadcast");
      }
    }
  });
}

TEST_CASE("ranks on two devices of a process reach each other", "[fake]") {
  const EachForItself apart;
  with_unique_id(2, [](int rank, const ncclUniqueId& id) {
    cuCtxSetCurrent(device_context(rank));
    ncclComm_t comm = nullptr;
    expect(ncclCommInitRank(&comm, 2, id, rank));
    move_everything(rank, 2, 5000, comm);
    expect(ncclCommDestroy(comm));
  });
  CHECK(fake_calls("cuCtxEnablePeerAccess") > 0);
}

TEST_CASE("calls between devices return at once and keep their order, also in several streams") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream first;
    const DeviceStream second;
    const Bytes one(pattern(1000, rank));
    const Bytes two(Image(1000, 9));
    Gate gate(first);
    expect(ncclBroadcast(one.data(), one.data(), 1000, ncclUint8, 0, comm, first));
    expect(ncclBroadcast(one.data(), two.data(), 1000, ncclUint8, 1, comm, second));
    expect_that(two.get() == Image(1000, 9), "nothing happens before the first stream does");
    gate.open();
    second.finish();
    expect_bytes(two.get(), pattern(1000, 0), "the second call saw the first one's result");
  });
}

TEST_CASE("two communicators, called in a different order on each rank, and a child of one") {
  const std::vector<ncclComm_t> firsts = init_on_device(2);
  const std::vector<ncclComm_t> seconds = init_on_device(2);
  on_all_ranks(2, [&](int rank) {
    cuCtxSetCurrent(device_context(0));
    const auto at = static_cast<std::size_t>(rank);
    const DeviceStream a;
    const DeviceStream b;
    const Bytes one(pattern(1000, rank));
    const Bytes two(pattern(2000, rank));
    for (int round = 0; round < 20; ++round) {
      const auto first = [&] {
        expect(ncclBroadcast(one.data(), one.data(), 1000, ncclUint8, 1, firsts[at], a));
      };
      if (rank == 0) first();
      expect(ncclBroadcast(two.data(), two.data(), 2000, ncclUint8, 0, seconds[at], b));
      if (rank == 1) first();
    }
    ncclComm_t child = nullptr;
    expect(ncclCommSplit(firsts[at], 0, 1 - rank, &child, nullptr));
    expect(ncclBroadcast(two.data(), two.data(), 1000, ncclUint8, 0, child, a));  // from old rank 1
    a.finish();
    b.finish();
    expect_bytes(one.get(), pattern(1000, 1), "first");
    expect_bytes(two.get(), pattern(2000, 0), "second");
    expect(ncclCommDestroy(child));
  });
  destroy(firsts);
  destroy(seconds);
}

TEST_CASE("one thread runs all ranks in a group, long calls too") {
  const std::vector<ncclComm_t> comms = init_on_device(3);
  const std::size_t bytes = 2 * half;
  const std::vector<DeviceStream> streams(3);
  std::vector<std::unique_ptr<Bytes>> buffers;
  for (int rank = 0; rank < 3; ++rank)
    buffers.push_back(std::make_unique<Bytes>(pattern(bytes, rank)));
  expect(ncclGroupStart());
  for (std::size_t at = 0; at < 3; ++at) {
    void* const data = buffers[at]->data();
    expect(ncclBroadcast(data, data, bytes, ncclUint8, 1, comms[at], streams[at]));
    expect(ncclBroadcast(data, data, 1000, ncclUint8, 0, comms[at], streams[at]));
  }
  expect(ncclGroupEnd());
  for (const DeviceStream& stream : streams) stream.finish();
  for (const auto& buffer : buffers) expect_bytes(buffer->get(), pattern(bytes, 1), "broadcast");
  destroy(comms);
}

TEST_CASE("captured calls between devices are replayed, with other calls between the replays") {
  const std::size_t bytes =
      GENERATE(from_range(cells<std::size_t>({100, 2 * half + 100}, {100, half + 100})));
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    Bytes in(Image(bytes, 0));
    const Bytes out(Image(2 * bytes, 0));
    const Bytes other(pattern(500, rank));
    {
      const CapturedGraph graph(stream, [&] {
        expect(ncclAllGather(in.data(), out.data(), bytes, ncclUint8, comm, stream));
      });
      for (int round = 1; round < 5; ++round) {
        in.set(pattern(bytes, 10 * round + rank));
        graph.launch(stream);
        if (round > 2) graph.launch(stream);
        stream.finish();
        const Image wanted = blocks(2, [&](int from) { return pattern(bytes, 10 * round + from); });
        expect_bytes(out.get(), wanted, "all_gather of round " + std::to_string(round));
        expect(ncclBroadcast(other.data(), other.data(), 500, ncclUint8, round % 2, comm, stream));
      }
    }
    stream.finish();
    expect_bytes(other.get(), pattern(500, 1), "the first broadcast's");
  });
  CHECK(fake_violations() == 0);
}

TEST_CASE("a graph of a call between devices ends when it is launched after its communicator") {
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const Bytes buffer(pattern(100, 0));
  replay_behind_the_end(comms, stream, [&] {
    expect(ncclBroadcast(buffer.data(), buffer.data(), 100, ncclUint8, 1, comms[0], stream));
  });
  expect_blocks(1);
  CHECK(fake_violations() == 0);
}

}  // namespace
}  // namespace rondo::test
