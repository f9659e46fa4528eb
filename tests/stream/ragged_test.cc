// Calls in streams whose blocks differ in size: in one slice and in several, from device and host
// memory, captured, and of all ranks in one thread.
#include <barrier>
#include <chrono>
#include <numeric>

#include "tests/catch.h"
#include "tests/stream/gpus.h"

namespace rondo::test {
namespace {

using Sizes = std::vector<std::size_t>;

constexpr int ranks = 3;
constexpr auto int32 = DataType::int32;

std::size_t sum(const Sizes& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Element i of rank r's block is 10,000,000 * r + i + 1.
std::vector<int> blocks_of(const Sizes& counts) {
  std::vector<int> values;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    for (std::size_t i = 0; i < counts[rank]; ++i)
      values.push_back(static_cast<int>(rank * 10'000'000 + i + 1));
  }
  return values;
}

std::vector<int> block_of(const Sizes& counts, int rank) {
  const std::vector<int> all = blocks_of(counts);
  const auto begin =
      all.begin() + std::accumulate(counts.begin(), counts.begin() + rank, std::ptrdiff_t{0});
  return {begin, begin + static_cast<std::ptrdiff_t>(counts[static_cast<std::size_t>(rank)])};
}

/// The first elements of a buffer, once the stream is done.
std::vector<int> first_of(const DeviceBuffer<int>& buffer, const DeviceStream& stream,
                          std::size_t count) {
  stream.finish();
  std::vector<int> values = buffer.get();
  values.resize(count);
  return values;
}

std::vector<int> tripled(std::vector<int> values) {
  for (int& value : values) value *= 3;
  return values;
}

// A slot of collectives holds 262144 elements.
const std::array count_lists{Sizes{5, 0, 9}, Sizes{0, 0, 0}, Sizes{0, 700'000, 1},
                             Sizes{90'000, 400'000, 10}, Sizes{200'000, 200'001, 199'999}};

TEST_CASE("ragged collectives in a stream") {
  const auto& counts = count_lists[static_cast<std::size_t>(GENERATE(0, 1, 2, 3, 4))];
  const std::vector<int> all = blocks_of(counts);
  with_gpus(ranks, [&](StreamCommunicator& gpus) {
    const DeviceStream stream;
    const int rank = gpus.rank();
    const std::vector<int> mine = block_of(counts, rank);
    const std::size_t own = mine.size();
    std::vector<int> padded = mine;
    padded.resize(own + 1);
    const DeviceBuffer<int> one(padded);
    const DeviceBuffer<int> out(own + 1, -1);
    DeviceBuffer<int> whole(all.size() + 1, -1);
    gpus.all_gather_v(one.data(), whole.data(), counts, int32, stream);
    expect_that(first_of(whole, stream, all.size()) == all, "all_gather_v");
    gpus.reduce_scatter_v(whole.data(), out.data(), counts, int32, ReduceOperator::sum, stream);
    expect_that(first_of(out, stream, own) == tripled(mine), "reduce_scatter_v");
    gpus.scatter_v(whole.data(), out.data(), counts, int32, 1, stream);
    expect_that(first_of(out, stream, own) == mine, "scatter_v");
    whole.set(std::vector<int>(all.size() + 1, -1));
    gpus.gather_v(one.data(), whole.data(), counts, int32, 2, stream);
    expect_that(rank != 2 || first_of(whole, stream, all.size()) == all, "gather_v");
    // In place, and on the host.
    std::vector<int> host(all.size() + 1, -1);
    int* const place =
        host.data() + std::accumulate(counts.begin(), counts.begin() + rank, std::ptrdiff_t{0});
    std::ranges::copy(mine, place);
    gpus.all_gather_v(place, host.data(), counts, int32, stream);
    stream.finish();
    expect_that(std::equal(all.begin(), all.end(), host.begin()) && host.back() == -1,
                "all_gather_v in place, on the host");
    if (own > 0) expect_that(out.get().back() == -1, "what lies after the block");
  });
  CHECK(fake_violations() == 0);
}

TEST_CASE("a captured ragged call does the same at every replay") {
  const Sizes counts{300'000, 0, 17};
  with_gpus(ranks, [&](StreamCommunicator& gpus) {
    const DeviceStream stream;
    const std::size_t own = counts[static_cast<std::size_t>(gpus.rank())];
    DeviceBuffer<int> one(own + 1, 0);
    const DeviceBuffer<int> all(sum(counts), 0);
    const CapturedGraph graph(stream, [&] {
      Sizes listed = counts;  // it need not outlive the call
      gpus.all_gather_v(one.data(), all.data(), listed, int32, stream);
      gpus.reduce_scatter_v(all.data(), one.data(), listed, int32, ReduceOperator::sum, stream);
    });
    for (int replay = 1; replay < 4; ++replay) {
      one.set(std::vector<int>(own + 1, replay));
      graph.launch(stream);
      expect_that(first_of(one, stream, own) == std::vector<int>(own, 3 * replay), "the sums");
    }
  });
  CHECK(fake_violations() == 0);
}

/// What rank `from` sends to rank `to`.
std::size_t between(int from, int to) {
  return from == 2 && to == 0 ? 0 : static_cast<std::size_t>(1000 * from + 90'000 * to + 3);
}

/// Both sides of a rank's exchange.
struct Lists {
  Sizes sent{};
  Sizes received{};
  std::vector<int> values{};
  std::vector<int> wanted{};

  explicit Lists(int rank) {
    for (int peer = 0; peer < ranks; ++peer) {
      sent.push_back(between(rank, peer));
      received.push_back(between(peer, rank));
      values.insert(values.end(), sent.back(), 100 * rank + peer);
      wanted.insert(wanted.end(), received.back(), 100 * peer + rank);
    }
  }
};

TEST_CASE("all_to_all_v in a stream, alone and in a group of all ranks") {
  with_gpus(ranks, [&](StreamCommunicator& gpus) {
    const DeviceStream stream;
    const Lists lists(gpus.rank());
    const DeviceBuffer<int> sent(lists.values);
    const DeviceBuffer<int> received(lists.wanted.size(), -1);
    gpus.all_to_all_v(sent.data(), {lists.sent}, received.data(), {lists.received}, int32, stream);
    stream.finish();
    expect_that(received.get() == lists.wanted, "the blocks");
  });
  cuCtxSetCurrent(device_context(0));
  std::vector<StreamCommunicator> gpus;
  for (Communicator& world : Communicator::from_threads(ranks)) gpus.emplace_back(world);
  const DeviceStream stream;
  std::vector<std::unique_ptr<DeviceBuffer<int>>> sent;
  std::vector<std::unique_ptr<DeviceBuffer<int>>> received;
  Group group;
  for (int rank = 0; rank < ranks; ++rank) {
    const Lists lists(rank);
    sent.push_back(std::make_unique<DeviceBuffer<int>>(lists.values));
    received.push_back(std::make_unique<DeviceBuffer<int>>(lists.wanted.size(), -1));
    gpus[static_cast<std::size_t>(rank)].all_to_all_v(sent.back()->data(), {lists.sent},
                                                      received.back()->data(), {lists.received},
                                                      int32, stream);
  }
  group.wait();
  stream.finish();
  for (int rank = 0; rank < ranks; ++rank)
    CHECK((received[static_cast<std::size_t>(rank)]->get() == Lists(rank).wanted));
  for (StreamCommunicator& each : gpus) each.finish();
}

/// Host memory, with set() and get() as a DeviceBuffer has them.
struct HostBuffer {
  explicit HostBuffer(std::size_t count, int value) : values(count, value) {}
  int* data() { return values.data(); }
  void set(const std::vector<int>& wanted) { std::ranges::copy(wanted, values.begin()); }
  const std::vector<int>& get() const { return values; }
  std::vector<int> values;
};

/// Captures the first call and replays it on new data. `Memory` holds both sides' blocks.
template <class Memory>
void check_captured_first(StreamCommunicator& gpus) {
  const DeviceStream stream;
  const Lists lists(gpus.rank());
  Memory sent(lists.values.size(), -1);
  Memory received(lists.wanted.size(), -1);
  const CapturedGraph graph(stream, [&] {
    gpus.all_to_all_v(sent.data(), {lists.sent}, received.data(), {lists.received}, int32, stream);
  });
  expect_that(received.get() == std::vector<int>(lists.wanted.size(), -1), "nothing in a capture");
  for (int replay = 0; replay < 3; ++replay) {
    const auto times = [&](std::vector<int> values) {
      for (int& value : values) value += 1000 * replay;
      return values;
    };
    sent.set(times(lists.values));
    graph.launch(stream);
    stream.finish();
    expect_that(received.get() == times(lists.wanted), "the blocks");
  }
}

// On the host a rank's own block goes through memory, too: more than there is from the start.
TEST_CASE("a communicator's first call may be a captured all_to_all_v") {
  const bool on_device = GENERATE(true, false);
  with_gpus(ranks, [&](StreamCommunicator& gpus) {
    if (on_device) return check_captured_first<DeviceBuffer<int>>(gpus);
    check_captured_first<HostBuffer>(gpus);
  });
  CHECK(fake_violations() == 0);
}

/// The error of rank 0's all_to_all_v, and whether its code is another. Rank 1 does `instead`.
template <class Instead>
std::string words_of_lonely(ErrorCode code, std::chrono::milliseconds timeout, Instead&& instead) {
  std::string words = "no error";
  std::barrier over(2);
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
