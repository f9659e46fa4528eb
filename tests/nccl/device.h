// Device buffers, streams and graphs with owners, and ranks as threads on a device. Uses only
// functions that a real driver has too.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda/handles.h"
#include "core/cuda/pinned.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/nccl/members.h"
#include "tests/repeat.h"
#include "tests/support/setting.h"

namespace rondo::test {

inline void expect_cuda(int status) {
  expect_that(status == cuda::success, "CUDA says " + std::to_string(status));
}

/// The copy is complete when this returns. The driver's own function may return before that, and
/// streams that do not wait for the null stream would not see the copy.
inline void device_upload(void* to, const void* from, std::size_t bytes) {
  expect_cuda(cuMemcpyHtoD_v2(cuda::address_of(to), from, bytes));
  expect_cuda(cuStreamSynchronize(nullptr));
}
inline void device_download(void* to, const void* from, std::size_t bytes) {
  expect_cuda(cuMemcpyDtoH_v2(to, cuda::address_of(from), bytes));
}
inline cuda::Context device_context(int device) {
  expect_cuda(cuInit(0));
  cuda::Context context = nullptr;
  expect_cuda(cuDevicePrimaryCtxRetain(&context, device));
  return context;
}

/// Waits until at most so many blocks of the stand-in driver are taken, and returns how many are.
/// Blocks that streams or ending threads still hold go soon. Blocks that do not go are a leak.
inline int blocks_left(int most) {
  constexpr std::chrono::seconds longest{30};
  const auto end = std::chrono::steady_clock::now() + longest;
  while (fake_blocks() > most && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return fake_blocks();
}
inline void expect_blocks(int most) {
  const int left = blocks_left(most);
  expect_that(left <= most, std::to_string(left) + " blocks of device memory are taken, not " +
                                std::to_string(most));
}

/// Devices by rank, reduced to those that there are.
inline std::vector<int> placed(std::vector<int> device_of) {
  int devices = 0;
  expect_cuda(cuInit(0));
  expect_cuda(cuDeviceGetCount(&devices));
  for (int& device : device_of) device %= devices;
  return device_of;
}

/// Memory of the current context's device.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count, T value = T{}) : count_(count) {
    expect_cuda(cuMemAlloc_v2(&address_, count * sizeof(T)));
    const std::vector<T> piece(std::min(count, most_of_piece), value);
    for (std::size_t at = 0; at < count; at += piece.size())
      expect_cuda(cuMemcpyHtoD_v2(address_ + at * sizeof(T), piece.data(),
                                  std::min(piece.size(), count - at) * sizeof(T)));
    expect_cuda(cuStreamSynchronize(nullptr));
  }
  explicit DeviceBuffer(const std::vector<T>& values) : count_(values.size()) {
    expect_cuda(cuMemAlloc_v2(&address_, count_ * sizeof(T)));
    set(values);
  }
  /// Complete the streams first. The other form would wait for those of all ranks, and a rank may
  /// wait for what this thread does next.
  ~DeviceBuffer() {
    if (cuMemFreeAsync(address_, nullptr) != cuda::success) cuMemFree_v2(address_);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* data() const { return reinterpret_cast<T*>(address_); }
  void set(const std::vector<T>& values) {
    device_upload(data(), values.data(), count_ * sizeof(T));
  }
  /// Complete the stream first.
  std::vector<T> get() const {
    std::vector<T> values(count_);
    device_download(values.data(), data(), count_ * sizeof(T));
    return values;
  }
  /// Whether all elements have this value. Complete the stream first.
  bool is_all(T value) const {
    std::vector<T> piece(std::min(count_, most_of_piece));
    for (std::size_t at = 0; at < count_; at += piece.size()) {
      piece.resize(std::min(piece.size(), count_ - at));
      device_download(piece.data(), data() + at, piece.size() * sizeof(T));
      if (std::ranges::count(piece, value) != std::ssize(piece)) return false;
    }
    return true;
  }

 private:
  /// Elements that are on the host at a time: sanitizers make large memory dear.
  static constexpr std::size_t most_of_piece = std::size_t{64} << 10;

  std::size_t count_;
  cuda::DevicePointer address_ = 0;
};

/// A stream of the current context.
class DeviceStream {
 public:
  DeviceStream() : stream_(cuda::make_stream()) {}
  operator cudaStream_t() const { return stream_.get(); }  // NOLINT: as handles are passed
  void finish() const { expect_cuda(cuStreamSynchronize(stream_.get())); }

 private:
  cuda::OwnedStream stream_;
};

/// Keeps a stream from going on until it is opened.
class StreamGate {
 public:
  explicit StreamGate(cudaStream_t stream) {
    memory_.leave();  // the stream may look at it for longer than this lives
    expect_cuda(cuStreamWaitValue32_v2(stream, memory_.device_address(memory_.data()), 1,
                                       cuda::wait_value_equal));
  }
  void open() {
    std::atomic_ref<unsigned>(*reinterpret_cast<unsigned*>(memory_.data()))
        .store(1, std::memory_order_release);
  }

 private:
  cuda::PinnedMemory memory_{4096};
};

constexpr int capture_thread_local = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// Calls a function of the stand-in with one value now, and with another when this goes. A real driver
/// has none of them.
template <class Value>
class WhileHere {
 public:
  WhileHere(void (*set)(Value), Value now, Value later) : set_(set), later_(later) { set(now); }
  ~WhileHere() { set_(later_); }
  WhileHere(const WhileHere&) = delete;
  WhileHere& operator=(const WhileHere&) = delete;

 private:
  void (*set_)(Value);
  Value later_;
};

/// A stream's queue has room for so many entries.
struct LimitedQueues : WhileHere<std::size_t> {
  explicit LimitedQueues(std::size_t entries) : WhileHere(fake_limit_queues, entries, 0) {}
};
/// New streams share so many queues of their context; 0: none do.
struct SharedQueues : WhileHere<std::size_t> {
  explicit SharedQueues(std::size_t queues) : WhileHere(fake_share_queues, queues, 0) {}
};
/// Freeing memory waits for the device.
struct FreesWait : WhileHere<bool> {
  FreesWait() : WhileHere(fake_free_waits, true, false) {}
};

/// A graph of what `body` puts into a stream.
class CapturedGraph {
 public:
  template <class Body>
  CapturedGraph(cudaStream_t stream, Body&& body) {
    expect_cuda(cuStreamBeginCapture_v2(stream, capture_thread_local));
    body();
    cuda::Graph graph = nullptr;
    expect_cuda(cuStreamEndCapture(stream, &graph));
    expect_cuda(cuGraphInstantiateWithFlags(&exec_, graph, 0));
    expect_cuda(cuGraphDestroy(graph));
  }
  ~CapturedGraph() { cuGraphExecDestroy(exec_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch(cudaStream_t stream) const { expect_cuda(cuGraphLaunch(exec_, stream)); }

 private:
  GraphExec exec_ = nullptr;
};

/// While it lives, each rank puts its calls into its streams by itself, though ranks are threads.
struct EachForItself : Setting {
  EachForItself() : Setting("RONDO_JOIN_THREADS", "0") {}
};

/// A device for each rank.
inline std::vector<int> own_devices(int ranks) {
  std::vector<int> devices(static_cast<std::size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// Communicators of ranks on these devices, by rank. Each puts its own calls into its streams.
inline std::vector<ncclComm_t> init_on(const std::vector<int>& device_of) {
  const EachForItself setting;
  std::vector<ncclComm_t> comms(device_of.size());
  expect(ncclCommInitAll(comms.data(), static_cast<int>(comms.size()), device_of.data()));
  return comms;
}

/// Communicators of ranks that share device 0, which becomes this thread's.
inline std::vector<ncclComm_t> init_on_device(int ranks) {
  cuCtxSetCurrent(device_context(0));
  return init_on(std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

/// The same, but all calls go through the host's memory.
inline std::vector<ncclComm_t> init_through_host(int ranks) {
  const Setting setting("NCCL_P2P_DISABLE", "1");
  return init_on_device(ranks);
}

/// The ways of calls of ranks that share a device.
enum class Way { through_host, between_devices };
inline std::vector<ncclComm_t> init(Way way, int ranks) {
  return way == Way::through_host ? init_through_host(ranks) : init_on_device(ranks);
}

/// Runs body(rank, comm) on a thread for each of the communicator's ranks, all with device 0's
/// context, and destroys it.
template <class Body>
void run_on_device(const std::vector<ncclComm_t>& comms, Body&& body) {
  run_members(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(0));
    body(rank, comm);
  });
}

/// The same with a new communicator, whose calls go through the host's memory. What is linked says
/// what ranks are: threads of this process (device_threads.cc), or processes with a network
/// between them (hosts.cc), which share no variable. Cases that are fit for both have the tag
/// [members].
void with_device_members(int ranks, const std::function<void(int rank, ncclComm_t comm)>& body);

/// The numbers of(0) to of(999) again and again, from i = `first` on.
template <class Of>
std::vector<int> thousands(std::size_t count, std::size_t first, const Of& of) {
  std::vector<int> values(count);
  const std::size_t made = std::min<std::size_t>(count, 1000);
  for (std::size_t i = 0; i < made; ++i) values[i] = of(static_cast<int>((first + i) % 1000));
  repeat<int>(values, made);
  return values;
}

/// Numbers that differ by rank and place, and whose sums are exact.
inline std::vector<int> numbers(std::size_t count, int rank) {
  return thousands(count, 0, [&](int i) { return i + rank * 1000; });
}

/// Says which element is the first wrong one.
template <class T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& wanted,
                  const std::string& what) {
  if (got == wanted) return;
  const auto [one, other] = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
  expect_that(false, what + ": element " + std::to_string(one - got.begin()) + " of " +
                         std::to_string(wanted.size()) + " is " +
                         (one == got.end() ? "missing" : std::to_string(*one)));
}

/// The sums of all ranks' numbers, from element `first` on.
inline std::vector<int> sums_of_numbers(std::size_t count, int ranks, std::size_t first = 0) {
  return thousands(count, first, [&](int i) { return i * ranks + 1000 * ranks * (ranks - 1) / 2; });
}

/// Broadcasts rank 1's numbers. The rank's device is current.
inline void check_broadcast(int rank, ncclComm_t comm) {
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(numbers(1000, rank));
  expect(broadcast(buffer, 1000, 1, comm, stream));
  stream.finish();
  expect_that(buffer.get() == numbers(1000, 1), "the broadcast");
}

/// The call has failed at once or fails in its stream, and the communicator with it.
inline void expect_failing(ncclResult_t at_once, const DeviceStream& stream, ncclComm_t comm,
                           ncclResult_t wanted) {
  if (at_once != ncclSuccess) expect(at_once, wanted);
  stream.finish();
  expect(failure_of(comm), wanted);
}

/// In what a rank's call differs from its peer's.
enum class Differs { count, type, root, collective };

/// Makes one of two ranks' calls that differ. The rank is told so, and takes no call any more.
inline void expect_difference(int rank, ncclComm_t comm, Differs what, std::size_t count) {
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(4 * count, rank);
  const bool other = rank == 1;
  const std::size_t mine = other && what == Differs::count ? count - 1 : count;
  const ncclDataType_t type = other && what == Differs::type ? ncclFloat : ncclInt;
  const int root = other && what == Differs::root ? 1 : 0;
  const auto call = [&] {
    return other && what == Differs::collective
               ? ncclAllGather(buffer.data() + 2 * count, buffer.data(), mine, type, comm, stream)
               : ncclBroadcast(buffer.data(), buffer.data(), mine, type, root, comm, stream);
  };
  const ncclResult_t at_once = call();
  if (at_once != ncclSuccess) expect(at_once, ncclInvalidUsage);
  stream.finish();
  // A root that waits for nobody is told in its next call.
  ncclResult_t state = ncclSuccess;
  for (;;) {
    expect(ncclCommGetAsyncError(comm, &state));
    if (state == ncclInvalidUsage) break;
    expect_that(state == ncclSuccess || state == ncclInProgress, "the communicator's failure");
    ncclAllGather(buffer.data() + 2 * count, buffer.data(), 1, ncclInt, comm, stream);
    stream.finish();
  }
  expect_last_error(comm, "broadcast");
  expect(call(), ncclInvalidUsage);
}

}  // namespace rondo::test
