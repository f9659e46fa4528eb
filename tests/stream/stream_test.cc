// rondo/stream.h: calls on device buffers in the order of streams.
#include "rondo/stream.h"

#include <atomic>
#include <cstdio>
#include <fstream>

#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/stream/gpus.h"

namespace rondo::test {
namespace {

constexpr auto int32 = DataType::int32;
constexpr auto sum = ReduceOperator::sum;

template <class Body>
void expect_failure(ErrorCode code, const std::string& part, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    expect_that(error.code() == code && std::string(error.what()).find(part) != std::string::npos,
                error.what());
    return;
  }
  expect_that(false, "an error with " + part);
}

TEST_CASE("collectives in a stream") {
  constexpr int ranks = 3;
  const std::size_t count = GENERATE(from_range(cells<std::size_t>({0, 7, 400'000}, {270'000})));
  std::vector<Trial> trials;
  for (const Case& each : every_collective(count, 2)) trials.emplace_back(each, ranks);
  for (const ReduceOperator op : {ReduceOperator::max, ReduceOperator::bit_and,
                                  ReduceOperator::bit_or, ReduceOperator::bit_xor})
    trials.emplace_back(Case{.call = {.count = count,
                                      .collective = Collective::all_reduce,
                                      .type = int32,
                                      .op = op}},
                        ranks);
  const Path path = GENERATE(from_range(all_paths));
  const int before = fake_calls("cuLaunchHostFunc");
  with_gpus(ranks, path, [&](StreamCommunicator& gpus) { check_calls(gpus, trials); });
  // Without kernels, reductions go through the host's memory.
  if (count > 0 && RONDO_WITH_KERNELS != 0) {
    const bool through_host = path == Path::through_host;
    CHECK((fake_calls("cuLaunchHostFunc") > before) == through_host);
  }
}

TEST_CASE("a schedule of the user's carries calls in streams") {
  const Setting setting("RONDO_SCHEDULES", RONDO_EXAMPLES "/schedules/ring.schedule");
  constexpr int ranks = 3;
  std::vector<Trial> trials;
  for (const std::size_t count : cells<std::size_t>({1, 7, 300'000}, {1, 70'000}))
    trials.emplace_back(Case{.call = {.count = count,
                                      .collective = Collective::all_reduce,
                                      .type = int32,
                                      .op = sum}},
                        ranks);
  const Path path = GENERATE(from_range(all_paths));
  const int before = fake_calls("cuLaunchHostFunc");
  with_gpus(ranks, path, [&](StreamCommunicator& gpus) { check_calls(gpus, trials); });
  // Only kernels that wait for each other follow it on GPUs.
  const bool by_kernels = path == Path::between_devices && RONDO_WITH_KERNELS != 0;
  CHECK((fake_calls("cuLaunchHostFunc") > before) != by_kernels);
}

// So those above did run by what the user wrote.
TEST_CASE("a wrong schedule of the user's is an error of the calls in streams that it carries") {
  const std::string path = RONDO_TEST_FOLDER "/wrong.schedule";
  std::ofstream(path) << "collective all_reduce\nalgorithm wrong\nranks any\nrank r\n"
                         "  send input[0] to (r+1) % P\n"
                         "  receive from (r-1) % P into output[0]\n";
  const Setting setting("RONDO_SCHEDULES", path);
  const Path taken = GENERATE(from_range(all_paths));
  const OnPath on(taken);
  std::atomic<int> told = 0;  // sequentially consistent: read when the threads have ended
  with_world(3, {}, [&](Communicator& world) {
    choose_device(taken, world.rank());
    StreamCommunicator gpus(world);
    const DeviceStream stream;
    const DeviceBuffer<int> values(1000, 1);
    bool failed = false;
    try {
      gpus.all_reduce(values.data(), values.data(), 1000, int32, sum, stream);
      stream.finish();
      gpus.finish();
    } catch (const Error& error) {  // its own, or that another rank has aborted
      failed = true;
      if (std::string(error.what()).find("is wrong for 3 ranks: ") != std::string::npos) ++told;
    }
    gpus.abort("the test is over");
    expect_that(failed, "a failure");
  });
  CHECK(told > 0);
  std::remove(path.c_str());
}

TEST_CASE("a call returns at once, follows its stream and can be captured") {
  with_gpus(2, GENERATE(from_range(all_paths)), [](StreamCommunicator& gpus) {
    const DeviceStream stream;
    DeviceBuffer<int> buffer(1000, 0);
    StreamGate gate(stream);
    gpus.all_reduce(buffer.data(), buffer.data(), 1000, int32, sum, stream);
    buffer.set(std::vector<int>(1000, 1));
    gate.open();
    const CapturedGraph graph(
        stream, [&] { gpus.all_reduce(buffer.data(), buffer.data(), 1000, int32, sum, stream); });
    graph.launch(stream);
    graph.launch(stream);
    gpus.finish();
    stream.finish();
    expect_that(buffer.is_all(8), "1 doubled three times");
  });
}

TEST_CASE("one thread puts the calls of all ranks into a group") {
  constexpr std::size_t count = 500'000;
  const OnPath setting(GENERATE(Path::through_host, Path::in_place));
  cuCtxSetCurrent(device_context(0));
  std::vector<StreamCommunicator> gpus;
  for (Communicator& world : Communicator::from_threads(2)) gpus.emplace_back(world);
  const DeviceStream stream;
  const DeviceBuffer<int> sent(numbers(count, 5));
  const DeviceBuffer<int> received(count, 0);
  const DeviceBuffer<int> sums(2, 1);
  {
    Group outer;
    gpus[0].send(sent.data(), count, int32, 1, stream);
    {
      Group inner;
      gpus[1].recv(received.data(), count, int32, 0, stream);
    }
    for (int rank = 0; rank < 2; ++rank) {
      int* const value = sums.data() + rank;
      gpus[static_cast<std::size_t>(rank)].all_reduce(value, value, 1, int32, sum, stream);
    }
    outer.wait();
  }
  stream.finish();
  CHECK(received.get() == numbers(count, 5));
  CHECK(sums.get() == std::vector<int>{2, 2});
  try {
    const Group group;
    gpus[0].send(sent.data(), count, int32, 1, stream);
    throw std::runtime_error("the program's own");
  } catch (const std::runtime_error&) {
    // What the group held never came into a stream.
  }
  stream.finish();
  for (StreamCommunicator& each : gpus) each.finish();
}

TEST_CASE("one thread makes the communicators of ranks on a device each, and their calls") {
  constexpr std::size_t count = 30'000;
  std::vector<StreamCommunicator> gpus;
  std::vector<std::unique_ptr<DeviceStream>> streams;
  std::vector<std::unique_ptr<DeviceBuffer<int>>> buffers;
  for (Communicator& world : Communicator::from_threads(2)) {
    choose_device(Path::between_devices, world.rank());
    streams.push_back(std::make_unique<DeviceStream>());
    buffers.push_back(std::make_unique<DeviceBuffer<int>>(count, world.rank() + 1));
    gpus.emplace_back(world);
  }
  Group group;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    int* const values = buffers[rank]->data();
    gpus[rank].all_reduce(values, values, count, int32, sum, *streams[rank]);
  }
  group.wait();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    gpus[rank].finish();
    choose_device(Path::between_devices, static_cast<int>(rank));
    CHECK(buffers[rank]->is_all(3));
  }
}

TEST_CASE("host calls of a group go on while its calls in streams wait for room") {
  const std::size_t host_count = 1'000'000;    // more than channels hold
  const std::size_t device_count = 9'000'000;  // more slices than a queue takes
  const OnPath setting(Path::through_host);
  with_world(2, {}, [&](Communicator& hosts) {
    cuCtxSetCurrent(device_context(0));
    StreamCommunicator gpus(hosts.dup());
    const DeviceStream stream;
    std::vector<int> host(host_count, gpus.rank());
    const DeviceBuffer<int> device(device_count, gpus.rank());
    if (gpus.rank() == 0) {
      Group group;
      hosts.send(host.data(), host_count, int32, 1);
      gpus.recv(device.data(), device_count, int32, 1, stream);
      group.wait();
    } else {
      hosts.recv(host.data(), host_count, int32, 0);
      gpus.send(device.data(), device_count, int32, 0, stream);
    }
    stream.finish();
    expect_that(host.back() == 0 && device.get().back() == 1, "what the peer sent");
  });
}

TEST_CASE("no rank makes calls where streams of one rank do not write and wait for words") {
  with_gpus(1, Path::in_place, [](const StreamCommunicator&) {});  // device 0 is known to do both
  cuCtxSetCurrent(device_context(0));
  fake_renew_context(device_context(6));
  const Setting setting("FAKE_MEMORY_OPERATIONS", "refused");
  std::vector<std::string> words(2);
  with_world(2, {}, [&](Communicator& world) {
    cuCtxSetCurrent(device_context(world.rank() == 0 ? 0 : 6));
    StreamCommunicator gpus(world);
    try {
      gpus.finish();
    } catch (const Error& error) {
      words[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  for (const std::string& each : words)
    CHECK(each.find("rank 1: cuStreamWriteValue32 failed with CUDA error 801") !=
          std::string::npos);
}

TEST_CASE("an exception that destroys a communicator ends the calls of its peers") {
  const Path path = GENERATE(from_range(all_paths));
  const OnPath setting(path);
  std::string words;
  with_world(2, {}, [&](Communicator& world) {
    choose_device(path, world.rank());
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    try {
      StreamCommunicator gpus(world);
      gpus.finish();
      if (world.rank() == 0) throw std::runtime_error("the program's own");
      gpus.all_reduce(buffer.data(), buffer.data(), 100, int32, sum, stream);
      gpus.finish();
    } catch (const Error& error) {
      words = error.what();
    } catch (const std::runtime_error&) {
      // Rank 0's.
    }
    stream.finish();
  });
  INFO(words);
  CHECK(words.find("an exception left its calls under way") != std::string::npos);
}

TEST_CASE("a finalized communicator refuses calls, and may be finalized again") {
  const Path path = GENERATE(from_range(all_paths));
  const OnPath setting(path);
  with_world(2, {}, [&](Communicator& world) {
    choose_device(path, world.rank());
    StreamCommunicator gpus(world);
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, 1);
    gpus.all_reduce(buffer.data(), buffer.data(), 100, int32, sum, stream);
    gpus.finalize();
    gpus.finalize();
    expect_failure(ErrorCode::invalid_usage, "this communicator was finalized",
                   [&] { gpus.all_reduce(buffer.data(), buffer.data(), 100, int32, sum, stream); });
  });
}

TEST_CASE("errors say what is wrong") {
  expect_failure(ErrorCode::invalid_usage, "handle is empty",
                 [] { StreamCommunicator().finish(); });
  cuCtxSetCurrent(nullptr);
  expect_failure(ErrorCode::invalid_usage, "no CUDA context",
                 [] { StreamCommunicator(Communicator::from_threads(1).front()); });
  cuCtxSetCurrent(device_context(0));
  std::vector<Communicator> worlds = Communicator::from_threads(2);
  StreamCommunicator gpus(worlds[0]);
  const StreamCommunicator peer(worlds[1]);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(100, 1);
  expect_failure(ErrorCode::invalid_argument, "root 5",
                 [&] { gpus.broadcast(buffer.data(), buffer.data(), 100, int32, 5, stream); });
  expect_failure(ErrorCode::invalid_argument, "bits of integers, not of float32", [&] {
    gpus.all_reduce(buffer.data(), buffer.data(), 100, DataType::float32, ReduceOperator::bit_or,
                    stream);
  });
  const int* const freed = DeviceBuffer<int>(100).data();
  expect_failure(ErrorCode::invalid_argument,
                 "neither host memory of this process nor memory of a GPU",
                 [&] { gpus.all_reduce(freed, buffer.data(), 100, int32, sum, stream); });
  expect_failure(ErrorCode::invalid_argument, "the last of its 4100 bytes",
                 [&] { gpus.send(buffer.data(), 1025, int32, 1, stream); });
  gpus.all_reduce(buffer.data(), buffer.data(), 100, int32, sum, stream);
  worlds[1].abort("no more");
  expect_failure(ErrorCode::aborted, "no more", [&] { gpus.finish(); });
  expect_failure(ErrorCode::aborted, "no more", [&] { gpus.check(); });
  stream.finish();
}

}  // namespace
}  // namespace rondo::test
