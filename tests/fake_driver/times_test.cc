// The model of time: what it says of single copies, waits, launches and convoys.
#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda/handles.h"
#include "core/cuda/pinned.h"
#include "tests/catch.h"
#include "tests/device/machine.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/fake_driver/timeline.h"

namespace rondo::test {
namespace {

using cuda::DevicePointer;

constexpr StreamCosts costs;
constexpr device::test::Machine machine;
constexpr std::size_t bytes = std::size_t{1} << 20;
constexpr double link_time = static_cast<double>(bytes) / machine.link_bandwidth;
/// From the call that puts a copy between GPUs into a stream to its first byte.
constexpr double to_first_byte = costs.put + costs.entry + 2 * machine.link_latency;

/// Memory and a stream of each of 8 GPUs.
class Gpus {
 public:
  static constexpr int count = 8;
  Gpus() {
    for (int gpu = 0; gpu < count; ++gpu) {
      cuda::Context context = nullptr;
      REQUIRE(cuDevicePrimaryCtxRetain(&context, gpu) == 0);
      cuCtxSetCurrent(context);
      REQUIRE(cuMemAlloc_v2(&memory_.emplace_back(), (count + 1) * bytes) == 0);
      streams_.push_back(cuda::make_stream());
    }
  }
  ~Gpus() {
    finish();
    for (const DevicePointer each : memory_) cuMemFree_v2(each);
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  cuda::Stream stream(int gpu) const { return streams_[static_cast<std::size_t>(gpu)].get(); }
  /// Puts a copy of the other GPU's memory into the stream of `gpu`.
  void read(int gpu, int other) const {
    const DevicePointer target = memory_[static_cast<std::size_t>(gpu)] + (other + 1) * bytes;
    const DevicePointer source = memory_[static_cast<std::size_t>(other)];
    cuda::check(cuMemcpyAsync(target, source, bytes, stream(gpu)), "cuMemcpyAsync");
  }
  void finish() const {
    for (int gpu = 0; gpu < count; ++gpu) CHECK(cuStreamSynchronize(stream(gpu)) == 0);
  }
  /// What the model says of the work that `put` puts into streams.
  double seconds(const std::function<void()>& put) const {
    fake_note_times();
    put();
    finish();
    return fake_predicted_seconds();
  }
  /// Every GPU, by a thread of its own, reads from all others in their order from first(gpu) on.
  double read_all(const std::function<int(int gpu)>& first) const {
    return seconds([&] {
      std::vector<std::jthread> threads;
      for (int gpu = 0; gpu < count; ++gpu) {
        threads.emplace_back([&, gpu] {
          for (int hop = 0; hop < count; ++hop) {
            if (const int other = (first(gpu) + hop) % count; other != gpu) read(gpu, other);
          }
        });
      }
    });
  }

 private:
  std::vector<DevicePointer> memory_{};
  std::vector<cuda::OwnedStream> streams_{};
};

TEST_CASE("copies take what their links need, and share them") {
  const Gpus gpus;
  const double one = gpus.seconds([&] { gpus.read(0, 1); });
  CHECK(one == Approx(to_first_byte + link_time));
  const double in_turn = gpus.seconds([&] {
    gpus.read(0, 1);
    gpus.read(0, 1);
  });
  CHECK(in_turn == Approx(one + costs.entry + 2 * machine.link_latency + link_time));
  // Both ways of a link, and links of other GPUs, are no hindrance; the way out of one GPU is.
  const double apart = gpus.seconds([&] {
    gpus.read(0, 1);
    gpus.read(1, 0);
    gpus.read(2, 3);
  });
  CHECK(apart == Approx(one + 2 * costs.put));
  const double shared = gpus.seconds([&] {
    gpus.read(0, 1);
    gpus.read(2, 1);
  });
  CHECK(shared == Approx(to_first_byte + 2 * link_time));
  const double within = gpus.seconds([&] { gpus.read(0, 0); });
  CHECK(within == Approx(costs.put + costs.entry + 2.0 * bytes / machine.memory_bandwidth));
}

TEST_CASE("GPUs that all read from one after the other make a convoy") {
  const Gpus gpus;
  const double least = (Gpus::count - 1) * link_time;
  const double turned = gpus.read_all([](int gpu) { return gpu + 1; });
  const double convoy = gpus.read_all([](int) { return 0; });
  CAPTURE(turned * 1e6, convoy * 1e6, least * 1e6);
  CHECK(turned > least);
  CHECK(convoy - turned > 2 * least);
}

TEST_CASE("streams wait for words and events of other streams") {
  const Gpus gpus;
  const cuda::PinnedMemory words(4096);
  const DevicePointer word = words.device_address(words.data());
  const double by_word = gpus.seconds([&] {
    CHECK(cuStreamWaitValue32_v2(gpus.stream(0), word, 1, cuda::wait_value_equal) == 0);
    gpus.read(1, 2);
    CHECK(cuStreamWriteValue32_v2(gpus.stream(1), word, 1, 0) == 0);
  });
  // The wait came first, and ends when the copy has ended and word of it has come.
  const double operation = costs.entry + costs.operation;
  CHECK(by_word ==
        Approx(costs.put + to_first_byte + link_time + operation + costs.word + operation));
  const double again = gpus.seconds([&] {  // the word is there from the beginning
    CHECK(cuStreamWaitValue32_v2(gpus.stream(0), word, 1, cuda::wait_value_equal) == 0);
  });
  CHECK(again == Approx(costs.put + operation));
  const cuda::OwnedEvent event = cuda::make_event();
  const double by_event = gpus.seconds([&] {
    gpus.read(1, 2);
    CHECK(cuEventRecord(event.get(), gpus.stream(1)) == 0);
    CHECK(cuStreamWaitEvent(gpus.stream(0), event.get(), 0) == 0);
    gpus.read(0, 3);
  });
  CHECK(by_event > to_first_byte + 2 * link_time + 2 * costs.entry);
}

TEST_CASE("what the model does not know, and waits without an end, are errors") {
  const Gpus gpus;
  const cuda::PinnedMemory memory(4096);
  CHECK_THROWS_WITH(gpus.seconds([&] {
    cuLaunchHostFunc(
        gpus.stream(0), [](void*) {}, nullptr);
  }),
                    Catch::Contains("a host function"));
  CHECK_THROWS_WITH(seconds_of({{{.waits = &memory, .value = 1}}}, {}),
                    Catch::Contains("waits for ever at its step 0"));
  CHECK(seconds_of({{{.waits = &memory, .value = 1}}}, {{&memory, 1}}) < costs.entry);
}

}  // namespace
}  // namespace rondo::test
