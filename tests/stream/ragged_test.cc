// Calls in streams whose blocks differ in size: in one slice and in several, from device and host
// memory, captured, and of all ranks in one thread.
#include <barrier>
#include <chrono>

#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/stream/gpus.h"

namespace rondo::test {
namespace {

using Sizes = std::vector<std::size_t>;

constexpr int ranks = 3;
constexpr auto int32 = DataType::int32;

// A slot of collectives holds 262144 elements.
const std::array count_lists{Sizes{5, 0, 9}, Sizes{0, 0, 0}, Sizes{0, 700'000, 1},
                             Sizes{90'000, 400'000, 10}, Sizes{200'000, 200'001, 199'999}};

/// An exchange of blocks of which one is empty.
Trial exchange(unsigned salt = 0) {
  return {{.call = {.type = int32},
           .salt = salt,
           .between =
               [](int from, int to) {
                 return from == 2 && to == 0
                            ? std::size_t{0}
                            : static_cast<std::size_t>(1000 * from + 90'000 * to + 3);
               }},
          ranks};
}

TEST_CASE("ragged collectives in a stream, on devices and hosts") {
  const auto& counts = count_lists[GENERATE(from_range(cells<std::size_t>({0, 1, 2, 3, 4}, {3})))];
  std::vector<Trial> trials;
  for (const int root : {1, 2}) {
    for (const Case& each : every_ragged(counts, root)) trials.emplace_back(each, ranks);
  }
  trials.push_back(exchange());
  with_gpus(ranks, GENERATE(from_range(all_paths)), [&](StreamCommunicator& gpus) {
    for (const bool on_host : cells<bool>({false, true}, {false}))
      check_calls(gpus, trials, on_host);
  });
}

TEST_CASE("a captured ragged call does the same at every replay") {
  const Sizes counts{300'000, 0, 17};
  with_gpus(ranks, GENERATE(from_range(all_paths)), [&](StreamCommunicator& gpus) {
    const DeviceStream stream;
    const std::size_t own = counts[static_cast<std::size_t>(gpus.rank())];
    DeviceBuffer<int> one(own + 1, 0);
    const DeviceBuffer<int> all(300'017, 0);
    const CapturedGraph graph(stream, [&] {
      Sizes listed = counts;  // it need not outlive the call
      gpus.all_gather_v(one.data(), all.data(), listed, int32, stream);
      gpus.reduce_scatter_v(all.data(), one.data(), listed, int32, ReduceOperator::sum, stream);
    });
    for (int replay = 1; replay < 4; ++replay) {
      one.set(std::vector<int>(own + 1, replay));
      graph.launch(stream);
      stream.finish();
      std::vector<int> sums = one.get();
      sums.pop_back();
      expect_that(sums == std::vector<int>(own, 3 * replay), "the sums");
    }
  });
}

TEST_CASE("all_to_all_v in a stream, in a group of all ranks") {
  const Trial trial = exchange();
  cuCtxSetCurrent(device_context(0));
  std::vector<StreamCommunicator> gpus;
  for (Communicator& world : Communicator::from_threads(ranks)) gpus.emplace_back(world);
  const DeviceStream stream;
  std::vector<std::unique_ptr<DeviceBuffer<std::byte>>> memories;
  Group group;
  for (StreamCommunicator& each : gpus) {
    const int rank = each.rank();
    memories.push_back(std::make_unique<DeviceBuffer<std::byte>>(trial.before(rank)));
    std::byte* const memory = memories.back()->data();
    make_call(each, trial.given(), memory + trial.input(rank), memory + trial.output(rank),
              static_cast<CudaStream>(stream));
  }
  group.wait();
  stream.finish();
  for (StreamCommunicator& each : gpus) {
    CHECK_NOTHROW(
        trial.check(each.rank(), memories[static_cast<std::size_t>(each.rank())]->get().data()));
    each.finish();
  }
}

/// Host memory, with set() and get() as a DeviceBuffer has them.
struct HostBuffer {
  explicit HostBuffer(const Bytes& bytes) : values(bytes) {}
  std::byte* data() { return values.data(); }
  void set(const Bytes& wanted) { std::ranges::copy(wanted, values.begin()); }
  const Bytes& get() const { return values; }
  Bytes values;
};

/// Captures the first call and replays it on new data.
template <class Memory>
void check_captured_first(StreamCommunicator& gpus) {
  const DeviceStream stream;
  const int rank = gpus.rank();
  const Trial first = exchange();
  Memory memory(first.before(rank));
  const CapturedGraph graph(stream, [&] {
    make_call(gpus, first.given(), memory.data() + first.input(rank),
              memory.data() + first.output(rank), static_cast<CudaStream>(stream));
  });
  expect_that(memory.get() == first.before(rank), "nothing in a capture");
  for (unsigned replay = 0; replay < (is_sanitized ? 2 : 3); ++replay) {
    const Trial trial = exchange(replay);
    memory.set(trial.before(rank));
    graph.launch(stream);
    stream.finish();
    trial.check(rank, memory.get().data());
  }
}

// On the host a rank's own block goes through memory, too: more than there is from the start.
TEST_CASE("a communicator's first call may be a captured all_to_all_v") {
  const bool on_device = GENERATE(from_range(cells<int>({1, 0}, {1}))) != 0;
  with_gpus(ranks, GENERATE(from_range(all_paths)), [&](StreamCommunicator& gpus) {
    if (on_device) return check_captured_first<DeviceBuffer<std::byte>>(gpus);
    check_captured_first<HostBuffer>(gpus);
  });
}

/// The error of rank 0's all_to_all_v, and whether its code is another. Rank 1 does `instead`.
template <class Instead>
std::string words_of_lonely(ErrorCode code, std::chrono::milliseconds timeout, Instead&& instead) {
  std::string words = "no error";
  std::barrier over(2);
  const OnPath setting(Path::through_host);
  with_world(2, {}, [&](Communicator& world) {
    cuCtxSetCurrent(device_context(0));
    StreamCommunicator gpus(world);
    world.barrier();
    over.arrive_and_wait();  // complete on both
    world.set_timeout(timeout);
    if (gpus.rank() == 1) {
      instead(gpus);
      over.arrive_and_wait();
      return;
    }
    const DeviceStream stream;
    const DeviceBuffer<int> sent(20, 1);
    const DeviceBuffer<int> received(20, 0);
    const Sizes ten{10, 10};
    try {
      gpus.all_to_all_v(sent.data(), {ten}, received.data(), {ten}, int32, stream);
      gpus.finish();
    } catch (const Error& error) {
      words = (error.code() == code ? "" : "another code: ") + std::string(error.what());
    }
    stream.finish();
    over.arrive_and_wait();
  });
  return words;
}

TEST_CASE("a rank that is missing in an all_to_all_v in a stream is named") {
  using namespace std::chrono_literals;
  const auto expect_words = [](const std::string& words, const std::string& part) {
    INFO(words);
    CHECK(words.starts_with("rondo: "));
    CHECK(words.find("recv of 10 x int32 of an all_to_all_v") != std::string::npos);
    CHECK(words.find(part) != std::string::npos);
  };
  expect_words(words_of_lonely(ErrorCode::timeout, 500ms, [](StreamCommunicator&) {}),
               "has not reached it; its last call was barrier #1, complete");
  expect_words(
      words_of_lonely(ErrorCode::mismatch, 60s, [](StreamCommunicator& gpus) { gpus.finalize(); }),
      "has left the communicator");
}

TEST_CASE("ranks that disagree about the counts of a call in several slices are told so") {
  std::vector<std::string> words(ranks);
  const OnPath setting(Path::through_host);
  with_world(ranks, {}, [&](Communicator& world) {
    cuCtxSetCurrent(device_context(0));
    StreamCommunicator gpus(world);
    const DeviceStream stream;
    const DeviceBuffer<int> one(700'000, 1);
    const DeviceBuffer<int> all(800'000, 0);
    const Sizes counts = gpus.rank() == 1 ? Sizes{700'000, 1, 2} : Sizes{700'000, 2, 1};
    try {
      gpus.all_gather_v(one.data(), all.data(), counts, int32, stream);
      gpus.finish();
    } catch (const Error& error) {
      words[static_cast<std::size_t>(gpus.rank())] = error.what();
    }
    stream.finish();
  });
  for (const std::string& each : words)
    CHECK(each.find("their lists of counts differ") != std::string::npos);
}

TEST_CASE("bad lists are refused before anything is in the stream") {
  cuCtxSetCurrent(device_context(0));
  StreamCommunicator alone(std::move(Communicator::from_threads(1).front()));
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(10, 1);
  const auto refused = [](auto&& body) {
    try {
      body();
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
  };
  CHECK(refused([&] {
    alone.all_gather_v(buffer.data(), buffer.data(), Sizes{1, 2}, int32, stream);
  }));
  const Sizes one{1};
  const Sizes two{2};
  CHECK(refused(
      [&] { alone.all_to_all_v(buffer.data(), {one}, buffer.data() + 5, {two}, int32, stream); }));
  alone.all_to_all_v(buffer.data(), {two}, buffer.data() + 5, {two}, int32, stream);
  alone.finish();
}

}  // namespace
}  // namespace rondo::test
