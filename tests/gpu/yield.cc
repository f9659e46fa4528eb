// Which waits let other processes use a GPU on which contexts take turns:
// - how long a small kernel of one process takes while another process waits in a stream, spins
//   in a kernel, is busy, or does nothing;
// - how long it takes to pass control to the other process and back, by the host and by streams.
#include <algorithm>
#include <chrono>
#include <new>
#include <span>

#include "bench/floor/team.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/cuda/resident_kernels.h"
#include "tests/gpu/obstacle.h"
#include "tests/gpu/report.h"
#include "tests/nccl/device.h"

namespace rondo::gpu_test {
namespace {

using bench::Member;
using test::DeviceBuffer;
using test::DeviceStream;
using test::expect_cuda;
using Clock = std::chrono::steady_clock;

constexpr double probe_seconds = 1;  ///< for each state of the other process
constexpr int most_probes = 300;
constexpr int handovers = 100;
/// How often the spinning kernel looks before it gives up: for seconds, so that nothing can hang.
constexpr std::uint64_t patience = 8'000'000;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// One process's part of the GPU, and a kernel of one element.
class Process {
 public:
  Process() : kernels_(cuda::Kernels::of(context())) {}

  void put_kernel() const {
    const cuda::DevicePointer source = cuda::address_of(from_.data());
    kernels_.combine({}, cuda::address_of(to_.data()), {&source, 1}, 1, stream_);
  }
  const DeviceStream& stream() const { return stream_; }

 private:
  static cuda::Context context() {
    const cuda::Context context = test::device_context(0);
    cuCtxSetCurrent(context);
    return context;
  }
  const cuda::Kernels& kernels_;
  DeviceStream stream_{};
  DeviceBuffer<float> from_{1, 1.0F};
  DeviceBuffer<float> to_{1, 0.0F};
};

/// What the process beside the measured one does.
class State {
 public:
  State() = default;
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  virtual void go_on() {}  ///< called again and again, while the other one measures
};

/// A stream waits for a word that is written in the end.
class WaitingStream final : public State {
 public:
  WaitingStream() : gate_(stream_) {}
  ~WaitingStream() override {
    gate_.open();
    cuStreamSynchronize(stream_);
  }

 private:
  DeviceStream stream_{};
  test::Gate gate_;
};

/// A small all-reduce of two ranks, of which the other one never comes.
class SpinningKernel final : public State {
 public:
  SpinningKernel() {
    control_ = new (pinned_.data()) device::Control();
    control_->patience = patience;
    call_.input = input_.data();
    call_.output = output_.data();
    call_.arenas = arenas_.data();
    call_.control = reinterpret_cast<device::Control*>(pinned_.device_address(pinned_.data()));
    call_.arena = shape;
    call_.count = 1;
    cuda::ResidentKernels::of(test::device_context(0)).launch(call_, stream_);
  }
  ~SpinningKernel() override {
    // relaxed: it brings no data. Partner: the kernel's looks at it (kernels/device/wait.h).
    std::atomic_ref(control_->abort).store(1, std::memory_order_relaxed);
    cuStreamSynchronize(stream_);
  }

 private:
  static constexpr device::ArenaShape shape{
      .ranks = 2, .frame_bytes = 16, .packets = 1, .mailbox = 64};
  DeviceStream stream_{};
  cuda::PinnedMemory pinned_{sizeof(device::Control)};
  device::Control* control_ = nullptr;
  DeviceBuffer<std::byte> own_{device::ArenaPlaces(shape).bytes()};
  DeviceBuffer<std::byte> other_{device::ArenaPlaces(shape).bytes()};
  DeviceBuffer<std::byte*> arenas_{std::vector<std::byte*>{own_.data(), other_.data()}};
  DeviceBuffer<std::byte> input_{sizeof(float)};
  DeviceBuffer<std::byte> output_{sizeof(float)};
  device::SmallCall call_{};
};

/// Device copies, one after another: each ends, but there is always a next one.
class BusyStream final : public State {
 public:
  void go_on() override {
    for (int i = 0; i < 4; ++i)
      expect_cuda(cuMemcpyAsync(cuda::address_of(to_.data()), cuda::address_of(from_.data()), bytes,
                                stream_));
    stream_.finish();
  }

 private:
  static constexpr std::size_t bytes = std::size_t{16} << 20;
  DeviceStream stream_{};
  DeviceBuffer<std::byte> from_{bytes};
  DeviceBuffer<std::byte> to_{bytes};
};

struct StateKind {
  const char* name;
  std::unique_ptr<State> (*make)();
};
const StateKind states[] = {
    {"idle", [] { return std::make_unique<State>(); }},
    {"waits_in_a_stream",
     []() -> std::unique_ptr<State> { return std::make_unique<WaitingStream>(); }},
    {"spins_in_a_kernel",
     []() -> std::unique_ptr<State> { return std::make_unique<SpinningKernel>(); }},
    {"copies", []() -> std::unique_ptr<State> { return std::make_unique<BusyStream>(); }}};

/// What both processes reach, on the host and on the device.
struct Board {
  alignas(128) std::atomic<int> measured{0};   ///< states that process 1 is done with
  alignas(128) std::atomic<int> turn{0};       ///< whose turn it is, by the host
  alignas(128) std::atomic<unsigned> word{0};  ///< whose turn it is, by streams
};

void report(const char* state, std::vector<double> times) {
  std::ranges::sort(times);
  Line("yield")
      .text("the_other_process", state)
      .number("kernels", static_cast<double>(times.size()))
      .number("median_microseconds", times[times.size() / 2] * 1e6)
      .number("p95_microseconds", times[times.size() * 95 / 100] * 1e6)
      .number("longest_microseconds", times.back() * 1e6);
}

/// Times from a small kernel's launch until it is done, again and again.
std::vector<double> probe(const Process& process) {
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.empty() || (since(begin) < probe_seconds && times.size() < most_probes)) {
    const auto launched = Clock::now();
    process.put_kernel();
    process.stream().finish();
    times.push_back(since(launched));
  }
  return times;
}

void measure_states(Member& member, const Process& process, Board& board) {
  int number = 0;
  for (const StateKind& kind : states) {
    ++number;
    if (member.rank() == 0) {
      const auto state = kind.make();
      member.meet();
      // acquire, with the release below; nothing but the number is read.
      while (board.measured.load(std::memory_order_acquire) < number) state->go_on();
    } else {
      member.meet();
      report(kind.name, probe(process));
      board.measured.store(number, std::memory_order_release);
    }
    member.meet();
  }
}

/// Runs kernels of both processes in turn. `handover` runs one process's.
template <class Handover>
void measure_handovers(Member& member, const Process& process, const char* way,
                       const Handover& handover) {
  process.put_kernel();
  process.stream().finish();
  member.meet();
  const auto begin = Clock::now();
  for (int i = 0; i < handovers; ++i) handover(2 * i + member.rank());
  process.stream().finish();
  const double time = member.largest(since(begin));
  if (member.rank() == 0)
    Line("handover").text("by", way).number("microseconds", time / (2 * handovers) * 1e6);
}

void measure_handovers(Member& member, const Process& process, Board& board,
                       cuda::DevicePointer word) {
  measure_handovers(member, process, "the host", [&](int mine) {
    // acquire and release pair with the other process's; nothing but the number is read.
    while (board.turn.load(std::memory_order_acquire) != mine) std::this_thread::yield();
    process.put_kernel();
    process.stream().finish();
    board.turn.store(mine + 1, std::memory_order_release);
  });
  measure_handovers(member, process, "streams", [&](int mine) {
    const auto value = static_cast<unsigned>(mine);
    expect_cuda(cuStreamWaitValue32_v2(process.stream(), word, value, cuda::wait_value_equal));
    process.put_kernel();
    expect_cuda(
        cuStreamWriteValue32_v2(process.stream(), word, value + 1, cuda::write_value_default));
  });
}

void measure(Member& member, const bench::SharedMemory& memory) {
  const std::string obstacle = driver_obstacle();
  if (!obstacle.empty()) throw std::runtime_error(obstacle);
  const Process process;
  auto& board = *std::launder(reinterpret_cast<Board*>(memory.data()));
  cuda::DevicePointer word = 0;
  expect_cuda(cuMemHostRegister_v2(memory.data(), memory.size(),
                                   cuda::register_portable | cuda::register_device_map));
  expect_cuda(cuMemHostGetDevicePointer_v2(&word, &board.word, 0));
  measure_states(member, process, board);
  measure_handovers(member, process, board, word);
  member.meet();
  expect_cuda(cuMemHostUnregister(memory.data()));
}

}  // namespace
}  // namespace rondo::gpu_test

int main() {
  using namespace rondo::gpu_test;
  // The processes come from this one, which therefore must not meet the driver.
  return program("", [] {
    const rondo::bench::SharedMemory memory(4096);
    new (memory.data()) Board();
    rondo::bench::run_team(2, [&](Member& member) { measure(member, memory); });
    return 0;
  });
}
