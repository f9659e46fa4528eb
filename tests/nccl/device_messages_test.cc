// ncclSend and ncclRecv between devices: alone, in groups, in graphs, and with sides that differ.
#include <cstdlib>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"

namespace rondo::test {
namespace {

constexpr std::size_t slot = std::size_t{1} << 20;  ///< bytes of a slice of 2 or 3 ranks

void send(const Bytes& buffer, std::size_t bytes, int peer, ncclComm_t comm, cudaStream_t stream,
          std::size_t at = 0) {
  expect(ncclSend(buffer.data() + at, bytes, ncclUint8, peer, comm, stream));
}
void receive(const Bytes& buffer, std::size_t bytes, int peer, ncclComm_t comm, cudaStream_t stream,
             std::size_t at = 0) {
  expect(ncclRecv(buffer.data() + at, bytes, ncclUint8, peer, comm, stream));
}

TEST_CASE("messages go from device to device round a ring, whatever their size") {
  const int ranks = GENERATE(2, 3);
  const std::size_t bytes = GENERATE(std::size_t{1}, slot + 1, 6 * slot + 3);
  const int before = device_parts();
  const int through_host = fake_calls("cuLaunchHostFunc");
  const Case ring{
      .between = [=](int from, int to) { return to == (from + 1) % ranks ? bytes : 0; }};
  check_destroyed(init_on_device(ranks), {ring, ring, ring}, {.by_messages = true});
  CHECK((device_parts() > before || fake_launches() < 0));
  CHECK(fake_calls("cuLaunchHostFunc") == through_host);
}

TEST_CASE("an all-to-all of messages of different sizes, also from each rank to itself") {
  const Case different{.between = [](int from, int to) {
    return static_cast<std::size_t>(from * 3 + to) * 250'000;
  }};
  check_destroyed(init_on_device(4), {different, different}, {.by_messages = true});
}

TEST_CASE("several messages between two ranks keep their order, in one group or several") {
  const std::vector<std::size_t> sizes{100, 6 * slot, 0, 1, 3 * slot, 5, 70'000};
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceStream other;
    std::size_t all = 0;
    for (const std::size_t bytes : sizes) all += bytes;
    const Bytes buffer(rank == 0 ? pattern(all, 0) : Image(all, 0));
    std::size_t at = 0;
    if (rank == 0) expect(ncclGroupStart());  // the other side makes a call of each
    for (const std::size_t bytes : sizes) {
      if (rank == 0) {
        send(buffer, bytes, 1, comm, at % 2 == 0 ? stream : other, at);
      } else {
        receive(buffer, bytes, 0, comm, stream, at);
      }
      at += bytes;
    }
    if (rank == 0) expect(ncclGroupEnd());
    stream.finish();
    other.finish();
    if (rank == 1) expect_that(buffer.get() == pattern(all, 0), "all of it, in order");
  });
}

TEST_CASE("no message of a group holds up another one") {
  // Rank 0's recv ends only when its long send has ended, by way of the others.
  const std::size_t bytes = 10 * slot;
  with_devices(3, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes large(pattern(bytes, rank));
    const Bytes small(pattern(10, rank));
    if (rank == 0) {
      expect(ncclGroupStart());
      receive(small, 10, 2, comm, stream);
      send(large, bytes, 1, comm, stream);
      expect(ncclGroupEnd());
    } else if (rank == 1) {
      receive(large, bytes, 0, comm, stream);
      send(large, 10, 2, comm, stream);
    } else {
      receive(small, 10, 1, comm, stream);
      send(small, 10, 0, comm, stream);
    }
    stream.finish();
    expect_that(small.get() == pattern(10, rank == 1 ? 1 : 0), "what rank 0 has sent");
  });
}

TEST_CASE("receives from several peers do not wait for each other") {
  // Rank 1 sends only when rank 0 has received rank 2's message, which it asked for after rank 1's.
  const std::size_t bytes = 10 * slot;
  with_devices(3, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes first(pattern(bytes, rank));
    const Bytes second(pattern(bytes, rank));
    if (rank == 0) {
      expect(ncclGroupStart());
      receive(first, bytes, 1, comm, stream);
      receive(second, bytes, 2, comm, stream);
      expect(ncclGroupEnd());
    } else if (rank == 1) {
      receive(second, 10, 2, comm, stream);
      send(first, bytes, 0, comm, stream);
    } else {
      send(first, bytes, 0, comm, stream);
      stream.finish();  // most of it is received
      send(second, 10, 1, comm, stream);
    }
    stream.finish();
    if (rank != 0) return;
    expect_equal(first.get(), pattern(bytes, 1), "rank 1's");
    expect_equal(second.get(), pattern(bytes, 2), "rank 2's");
  });
}

TEST_CASE("a message that differs is reported even if its sender is hundreds of calls ahead") {
  const int further = GENERATE(40, 500);
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const DeviceStream other;
  const Bytes buffer(Image(100, 1));
  send(buffer, 50, 1, comms[0], stream);
  for (int message = 0; message < further; ++message)
    send(buffer, message < 40 ? 10 : 0, 1, comms[0], stream);  // empty ones take no room in a queue
  expect_error(ncclRecv(buffer.data(), 100, ncclUint8, 0, comms[1], other), ncclInvalidUsage,
               "which sends 50 x uint8");
  CHECK(failure_of(comms[0]) == ncclInvalidUsage);
  stream.finish();
  abort_all(comms);
}

TEST_CASE("destroying a communicator whose message nobody receives ends with an error text") {
  const Setting setting("RONDO_TIMEOUT", "1");
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const DeviceStream stream;
  const Bytes buffer(Image(100, 1));
  send(buffer, 100, 1, comms[0], stream);
  expect_error(ncclCommDestroy(comms[0]), ncclRemoteError, "was not read before the timeout");
  expect(ncclCommAbort(comms[1]));
}

TEST_CASE("captured messages are replayed between collectives and other messages") {
  const std::size_t bytes = GENERATE(std::size_t{100}, 6 * slot + 1);
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const int peer = 1 - rank;
    Bytes sent(pattern(bytes, rank));
    const Bytes received(Image(bytes, 0));
    const Bytes other(pattern(10, rank));
    {
      const CapturedGraph graph(stream, [&] {
        expect(ncclGroupStart());
        send(sent, bytes, peer, comm, stream);
        receive(received, bytes, peer, comm, stream);
        expect(ncclGroupEnd());
      });
      for (int round = 1; round < 4; ++round) {
        sent.set(pattern(bytes, 10 * round + rank));
        graph.launch(stream);
        graph.launch(stream);
        if (rank == 0) send(other, 10, 1, comm, stream);
        if (rank == 1) receive(other, 10, 0, comm, stream);
        expect(ncclBroadcast(other.data(), other.data(), 10, ncclUint8, 1, comm, stream));
        stream.finish();
        expect_that(received.get() == pattern(bytes, 10 * round + peer), std::to_string(round));
        expect_that(other.get() == pattern(10, 0), "what rank 0 sent");
      }
    }
  });
}

TEST_CASE("sides of a message between devices that differ are told so") {
  const std::size_t wrong = GENERATE(std::size_t{50}, 20 * slot, std::size_t{0});
  with_devices(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes buffer(Image(20 * slot, 1));
    const ncclResult_t at_once = rank == 0
                                     ? ncclSend(buffer.data(), 100, ncclUint8, 1, comm, stream)
                                     : ncclRecv(buffer.data(), wrong, ncclUint8, 0, comm, stream);
    expect_failing(at_once, stream, comm, ncclInvalidUsage);
    expect_last_error(comm, "100 x uint8");
    expect_last_error(comm, std::to_string(wrong) + " x uint8");
  });
}

TEST_CASE("a message between a device and the host's memory is an error") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes device(Image(100, 1));
    Image host(100);
    const ncclResult_t at_once = rank == 0
                                     ? ncclSend(device.data(), 100, ncclUint8, 1, comm, stream)
                                     : ncclRecv(host.data(), 100, ncclUint8, 0, comm, stream);
    stream.finish();
    // The rank that waits on the host may hear of it from the other side.
    const auto tells = [rank](ncclResult_t result) {
      return result == ncclInvalidUsage || (rank == 1 && result == ncclRemoteError);
    };
    const ncclResult_t failure = failure_of(comm);
    const std::string words = ncclGetLastError(comm);
    expect_that(at_once == ncclSuccess || tells(at_once), words);
    expect_that(tells(failure), words);
    expect_that(words.find("in host memory") != std::string::npos, words);
  });
}

TEST_CASE("messages of a group keep the order of their calls, whatever memory they are in") {
  with_devices(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes device(pattern(4, rank));
    Image host = pattern(8, 10 + rank);
    const Bytes none(Image(1, 0));
    if (rank == 0) {
      expect(ncclGroupStart());
      send(device, 4, 1, comm, stream);
      expect(ncclSend(host.data(), 8, ncclUint8, 1, comm, stream));
      send(none, 0, 1, comm, stream);
      expect(ncclGroupEnd());
    } else {
      receive(device, 4, 0, comm, stream);
      expect(ncclRecv(host.data(), 8, ncclUint8, 0, comm, stream));
      receive(none, 0, 0, comm, stream);
    }
    stream.finish();
    expect_that(device.get() == pattern(4, 0), "device memory");
    expect_that(host == pattern(8, 10), "the host's");
  });
}

TEST_CASE("a rank's message to itself needs both sides, and they must agree") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 2);
  const DeviceStream stream;
  const Bytes buffer(pattern(200, 3));
  expect_error(ncclSend(buffer.data(), 100, ncclUint8, 0, comms[0], stream), ncclInvalidUsage,
               "its other side is missing");
  stream.finish();  // nothing was put there
  if (way == Way::through_host) return destroy(comms);
  expect(ncclGroupStart());
  send(buffer, 100, 0, comms[0], stream);
  receive(buffer, 99, 0, comms[0], stream, 100);
  expect_error(ncclGroupEnd(), ncclInvalidUsage, "99 x uint8");
  abort_all(comms);
}

TEST_CASE("destroying a communicator waits until what it sent between devices is received") {
  const std::vector<ncclComm_t> comms = init_on_device(2);
  const Bytes received(Image(100, 0));
  std::thread sends([&] {
    cuCtxSetCurrent(device_context(0));
    const DeviceStream stream;
    const Bytes sent(pattern(100, 5));
    send(sent, 100, 1, comms[0], stream);
    expect(ncclCommDestroy(comms[0]));
  });
  const DeviceStream stream;
  receive(received, 100, 0, comms[1], stream);
  stream.finish();
  sends.join();
  CHECK(received.get() == pattern(100, 5));
  expect(ncclCommDestroy(comms[1]));
}

}  // namespace
}  // namespace rondo::test
