// The stand-in for the driver notices what a real device would not forgive.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda/handles.h"
#include "kernels/device/pieces.h"
#include "tests/catch.h"
#include "tests/device/host_team.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

using cuda::DevicePointer;

constexpr int invalid_value = 1;

/// Device 3, which no other test uses, current in this thread.
cuda::Context own_context() {
  cuda::Context context = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&context, 3) == 0);
  cuCtxSetCurrent(context);
  return context;
}

DevicePointer allocate(std::size_t bytes) {
  DevicePointer memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, bytes) == 0);
  return memory;
}

/// Page-locked memory.
struct Locked {
  Locked() { REQUIRE(cuMemHostRegister_v2(words.data(), sizeof words, 0) == 0); }
  ~Locked() { cuMemHostUnregister(words.data()); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  DevicePointer on_host() const { return cuda::address_of(words.data()); }
  DevicePointer on_device() {
    DevicePointer address = 0;
    REQUIRE(cuMemHostGetDevicePointer_v2(&address, words.data(), 0) == 0);
    return address;
  }
  std::array<unsigned, 1024> words{};
};

TEST_CASE("devices know page-locked memory by another address, which copies do not need") {
  own_context();
  Locked locked;
  const cuda::OwnedStream stream = cuda::make_stream();
  CHECK(locked.on_device() != locked.on_host());
  CHECK(cuda::pointer_attribute<DevicePointer>(cuda::attribute_device_pointer,
                                               locked.on_host() + 8) == locked.on_device() + 8);
  CHECK(cuStreamWriteValue32_v2(stream.get(), locked.on_host(), 7, 0) == invalid_value);
  CHECK(cuStreamWriteValue32_v2(stream.get(), locked.on_device(), 7, 0) == 0);
  const DevicePointer memory = allocate(8);
  CHECK(cuMemcpyAsync(memory, locked.on_host(), 4, stream.get()) == 0);
  CHECK(cuMemcpyAsync(locked.on_device() + 4, memory, 4, stream.get()) == 0);
  CHECK(cuStreamSynchronize(stream.get()) == 0);
  CHECK(locked.words[1] == 7);
  CHECK(cuMemFree_v2(memory) == 0);
}

TEST_CASE("memory operations take aligned words only") {
  own_context();
  Locked locked;
  const cuda::OwnedStream stream = cuda::make_stream();
  const DevicePointer word = locked.on_device() + 2;
  CHECK(cuStreamWriteValue32_v2(stream.get(), word, 1, 0) == invalid_value);
  CHECK(cuStreamWaitValue32_v2(stream.get(), word, 0, cuda::wait_value_equal) == invalid_value);
  cuda::MemoryOperation operation{.operation = cuda::operation_write_value, .address = word};
  CHECK(cuStreamBatchMemOp_v2(stream.get(), 1, &operation, 0) == invalid_value);
}

TEST_CASE("a wait that a number be reached counts on where numbers wrap") {
  own_context();
  Locked locked;
  const cuda::OwnedStream stream = cuda::make_stream();
  for (const unsigned now : {7U, 8U, 7U + (1U << 31) - 1}) {
    std::atomic_ref(locked.words[0]).store(now, std::memory_order_relaxed);
    for (const unsigned value : {7U, now, now - (1U << 31) + 1}) {
      CHECK(cuStreamWaitValue32_v2(stream.get(), locked.on_device(), value,
                                   cuda::wait_value_reached) == 0);
      CHECK(cuStreamSynchronize(stream.get()) == 0);
    }
  }
}

/// The kernel that combines floats.
cuda::Function kernel() {
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  REQUIRE(cuModuleLoadData(&module, ".version 7.7\n.target sm_75\n") == 0);
  const auto type = static_cast<std::size_t>(DataType::float32);
  REQUIRE(cuModuleGetFunction(&function, module, device::kernel_names[type]) == 0);
  return function;
}

/// Copies `count` floats by that kernel.
int launch_copy(cuda::Function function, DevicePointer target, DevicePointer source,
                std::size_t count, cuda::Stream stream) {
  device::Pieces pieces{};
  pieces.count = count;
  pieces.factor = 1;
  pieces.divisor = 1;
  pieces.sources = 1;
  pieces.targets = 1;
  pieces.pointers[0] = source;
  pieces.pointers[1] = target;
  void* argument = &pieces;
  return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, &argument, nullptr);
}

TEST_CASE("a kernel with a pointer that is not aligned breaks its context, for every call") {
  const cuda::Context context = own_context();
  constexpr int misaligned = 716;
  {
    Locked locked;
    const cuda::OwnedStream stream = cuda::make_stream();
    const DevicePointer memory = allocate(64);
    const cuda::OwnedEvent event = cuda::make_event();
    const cuda::Function copying = kernel();
    CHECK(launch_copy(copying, memory, memory + 32, 4, stream.get()) == 0);
    CHECK(cuStreamSynchronize(stream.get()) == 0);
    CHECK(launch_copy(copying, memory, memory + 34, 4, stream.get()) == 0);
    CHECK(cuStreamSynchronize(stream.get()) == misaligned);
    CHECK(cuMemcpyAsync(memory, memory + 32, 4, stream.get()) == misaligned);
    CHECK(cuStreamWriteValue32_v2(stream.get(), locked.on_device(), 1, 0) == misaligned);
    CHECK(cuEventRecord(event.get(), stream.get()) == misaligned);
    CHECK(cuEventQuery(event.get()) == misaligned);
    CHECK(launch_copy(copying, memory, memory + 32, 4, stream.get()) == misaligned);
    CHECK(cuCtxPushCurrent_v2(context) == misaligned);
    DevicePointer more = 0;
    CHECK(cuMemAlloc_v2(&more, 8) == misaligned);
    CHECK(cuMemFree_v2(memory) == 0);
  }
  fake_renew_context(context);
  const DevicePointer memory = allocate(8);
  CHECK(cuMemFree_v2(memory) == 0);
}

/// Puts two copies from one half of a buffer to the other into streams again and again, in order or
/// not, until there is a race or there were `rounds`.
void copy_at_once(bool in_order, int rounds) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const int before = fake_races();
  const DevicePointer memory = allocate(2 * bytes);
  const cuda::OwnedStream one = cuda::make_stream();
  const cuda::OwnedStream two = cuda::make_stream();
  const cuda::OwnedEvent event = cuda::make_event();
  for (int round = 0; round < rounds && fake_races() == before; ++round) {
    CHECK(cuMemcpyAsync(memory, memory + bytes, bytes, one.get()) == 0);
    if (in_order) {
      CHECK(cuEventRecord(event.get(), one.get()) == 0);
      CHECK(cuStreamWaitEvent(two.get(), event.get(), 0) == 0);
    }
    CHECK(cuMemcpyAsync(memory + bytes + 100, memory, 100, two.get()) == 0);
    CHECK(cuStreamSynchronize(one.get()) == 0);
    CHECK(cuStreamSynchronize(two.get()) == 0);
  }
  CHECK(cuMemFree_v2(memory) == 0);
}

TEST_CASE("copies that touch the same bytes at the same time are counted, unless in order") {
  own_context();
  const int before = fake_races();
  copy_at_once(true, 20);
  CHECK(fake_races() == before);
  if (looks_for_races) return;  // ThreadSanitizer ends the process at a race, as it should
  copy_at_once(false, 100'000);
  CHECK(fake_races() > before);
}

TEST_CASE("a copy that overlaps itself is counted") {
  own_context();
  const int before = fake_races();
  const DevicePointer memory = allocate(100);
  const cuda::OwnedStream stream = cuda::make_stream();
  CHECK(cuMemcpyAsync(memory, memory + 50, 50, stream.get()) == 0);
  CHECK(cuStreamSynchronize(stream.get()) == 0);
  CHECK(fake_races() == before);
  CHECK(cuMemcpyAsync(memory, memory + 49, 50, stream.get()) == 0);
  CHECK(cuStreamSynchronize(stream.get()) == 0);
  CHECK(fake_races() == before + 1);
  CHECK(cuMemFree_v2(memory) == 0);
}

TEST_CASE("copies in random pieces are whole") {
  own_context();
  Locked locked;
  for (std::size_t i = 0; i < locked.words.size(); ++i) locked.words[i] = static_cast<unsigned>(i);
  const cuda::OwnedStream stream = cuda::make_stream();
  const DevicePointer memory = allocate(sizeof locked.words);
  for (std::size_t count = 1; count <= 64; ++count) {
    CHECK(cuMemcpyAsync(memory, locked.on_host(), 4 * count, stream.get()) == 0);
    CHECK(cuMemcpyAsync(locked.on_host() + 2048, memory, 4 * count, stream.get()) == 0);
    CHECK(cuStreamSynchronize(stream.get()) == 0);
    CHECK(std::equal(locked.words.begin(), locked.words.begin() + static_cast<long>(count),
                     locked.words.begin() + 512));
  }
  CHECK(cuMemFree_v2(memory) == 0);
}

TEST_CASE("the legacy stream and streams that block wait for each other") {
  own_context();
  Locked locked;
  const DevicePointer words = locked.on_device();
  cuda::Stream made = nullptr;
  REQUIRE(cuStreamCreate(&made, 0) == 0);
  const cuda::OwnedStream blocks(made);
  const cuda::OwnedStream free = cuda::make_stream();
  const cuda::OwnedEvent event = cuda::make_event();
  CHECK(cuStreamWaitValue32_v2(made, words, 1, cuda::wait_value_equal) == 0);
  CHECK(cuStreamWriteValue32_v2(nullptr, words + 4, 1, 0) == 0);  // behind that
  CHECK(cuStreamWriteValue32_v2(made, words + 8, 1, 0) == 0);
  CHECK(cuEventRecord(event.get(), made) == 0);
  for (int i = 0; i < 100; ++i) {
    CHECK(cuStreamWriteValue32_v2(free.get(), words + 12, 1, 0) == 0);
    CHECK(cuStreamSynchronize(free.get()) == 0);
    CHECK(cuEventQuery(event.get()) == cuda::not_ready);
    CHECK(std::atomic_ref(locked.words[1]).load(std::memory_order_acquire) == 0);
  }
  CHECK(cuStreamWriteValue32_v2(free.get(), words, 1, 0) == 0);
  CHECK(cuStreamSynchronize(nullptr) == 0);
  CHECK(locked.words[1] == 1);
  CHECK(cuEventSynchronize(event.get()) == 0);
  CHECK(locked.words[2] == 1);
}

/// Whether a child that runs `body` aborts.
bool aborts(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::alarm(60);  // a thread that is not here may hold a lock
    try {
      body();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("what a driver forbids ends the process") {
  own_context();
  const cuda::OwnedStream stream = cuda::make_stream();
  const auto ask = [](void*) {
    cuda::Context context = nullptr;
    cuCtxGetCurrent(&context);
  };
  CHECK(aborts([&] {
    cuStreamBeginCapture_v2(stream.get(), 0);
    allocate(8);
  }));
  CHECK(aborts([&] {  // a graph's object goes in a host function
    cuda::UserObject object = nullptr;
    cuUserObjectCreate(&object, nullptr, ask, 1, cuda::user_object_no_destructor_sync);
    cuUserObjectRelease(object, 1);
  }));
  CHECK_FALSE(aborts([&] { ask(nullptr); }));
}

/// What teams of 32 threads say that run `work(team)`.
std::vector<std::string> said_by_team(const std::function<void(device::test::HostTeam&)>& work) {
  std::mutex mutex;
  std::vector<std::string> said;
  device::test::HostTeamState state(
      32, std::make_unique<device::test::HostMeetingPoint>(32, [&](const std::string& what) {
        const std::scoped_lock lock(mutex);
        said.push_back(what);
      }));
  std::vector<std::jthread> threads;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    threads.emplace_back([&, lane] {
      device::test::HostTeam team(state, lane);
      work(team);
    });
  }
  threads.clear();
  return said;
}

TEST_CASE("a block whose threads come to different barriers, or to none, is noticed") {
  using device::test::HostTeam;
  CHECK(said_by_team([](HostTeam& team) {
          for (int i = 0; i < 100; ++i) team.synchronize();
          team.any(team.lane() == 31);
        }).empty());
  const auto early = said_by_team([](HostTeam& team) {
    team.synchronize();
    if (team.lane() != 5) team.synchronize();
  });
  CHECK(early.size() == 31);
  REQUIRE(!early.empty());
  CHECK(early.front().find("a thread of a block has ended") != std::string::npos);
  const auto elsewhere = said_by_team([](HostTeam& team) {
    if (team.lane() == 5) {
      team.any(true);
    } else {
      team.synchronize();
    }
  });
  REQUIRE(!elsewhere.empty());
  CHECK(elsewhere.front().find("threads of a block are at the barriers") != std::string::npos);
}

}  // namespace
}  // namespace rondo::test
