// libnccl's all-reduces of ranks that one thread runs on one device: how long a call takes by
// itself and replayed in a graph, beside what copying as many bytes takes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "tests/gpu/report.h"
#include "tests/nccl/device.h"

namespace rondo::gpu_test {
namespace {

using test::DeviceBuffer;
using test::DeviceStream;
using test::expect;
using test::expect_cuda;

/// The median of several turns, each of `launches` of them, in seconds for one.
double seconds(const DeviceStream& stream, int launches, const std::function<void()>& launch) {
  std::vector<double> times;
  for (int turn = 0; turn < 12; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    stream.finish();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (turn >= 2) times.push_back(time.count() / launches);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Bytes read and written a second by the device's own copies.
double copy_bandwidth(std::size_t bytes) {
  const DeviceStream stream;
  const DeviceBuffer<float> from(bytes / 4, 1);
  const DeviceBuffer<float> to(bytes / 4, 1);
  return 2 * static_cast<double>(bytes) / seconds(stream, 10, [&] {
           expect_cuda(cuMemcpyAsync(cuda::address_of(to.data()), cuda::address_of(from.data()),
                                     bytes, stream));
         });
}

/// Elements that are not the sum, and how long calls take.
int check_and_measure(int ranks, std::size_t bytes, double bandwidth) {
  const std::size_t count = bytes / sizeof(float);
  const std::vector<int> devices(static_cast<std::size_t>(ranks), 0);
  std::vector<ncclComm_t> comms(devices.size());
  expect(ncclCommInitAll(comms.data(), ranks, devices.data()));
  const DeviceStream stream;
  std::vector<std::unique_ptr<DeviceBuffer<float>>> inputs;
  std::vector<std::unique_ptr<DeviceBuffer<float>>> outputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(std::make_unique<DeviceBuffer<float>>(count, static_cast<float>(rank + 1)));
    outputs.push_back(std::make_unique<DeviceBuffer<float>>(count, 0.0F));
  }
  const auto call = [&] {
    expect(ncclGroupStart());
    for (std::size_t r = 0; r < comms.size(); ++r) {
      expect(ncclAllReduce(inputs[r]->data(), outputs[r]->data(), count, ncclFloat, ncclSum,
                           comms[r], stream));
    }
    expect(ncclGroupEnd());
  };
  const bool large = bytes > (std::size_t{1} << 20);
  const int calls = large ? 2 : 20;
  const double eager = seconds(stream, 10 * calls, call);
  const test::CapturedGraph graph(stream, [&] {
    for (int i = 0; i < calls; ++i) call();
  });
  const double replayed = seconds(stream, 5, [&] { graph.launch(stream); }) / calls;
  const double least = 2.0 * ranks * static_cast<double>(bytes) / bandwidth;
  Line("together")
      .number("ranks", ranks)
      .number("bytes", static_cast<double>(bytes))
      .number("microseconds", eager * 1e6)
      .number("microseconds_in_graph", replayed * 1e6)
      .number("of_copy_bandwidth", least / replayed);
  int wrong = 0;
  const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
  for (const auto& output : outputs) {
    for (const float value : output->get()) wrong += value == sum ? 0 : 1;
  }
  test::destroy(comms);
  return wrong;
}

}  // namespace
}  // namespace rondo::gpu_test

/// With "--check" small sizes alone.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const bool brief = count > 1 && std::string(arguments[1]) == "--check";
  return program([&] {
    cuCtxSetCurrent(rondo::test::device_context(0));
    const double bandwidth = copy_bandwidth(std::size_t{brief ? 1u : 256u} << 20);
    int wrong = 0;
    for (const int ranks : {2, 4, 8}) {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{8192}, std::size_t{64} << 20}) {
        if (!brief || bytes <= 8192) wrong += check_and_measure(ranks, bytes, bandwidth);
      }
    }
    return wrong;
  });
}
