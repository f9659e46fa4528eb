// Device buffers, streams and graphs with owners; ranks as threads on a device. All by functions
// that a real driver has, too.
#pragma once

#include <utility>
#include <vector>

#include "core/cuda/handles.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/nccl/members.h"

namespace rondo::test {

inline void expect_cuda(int status) {
  expect_that(status == cuda::success, "CUDA says " + std::to_string(status));
}

inline void device_upload(void* to, const void* from, std::size_t bytes) {
  expect_cuda(cuMemcpyHtoD_v2(cuda::address_of(to), from, bytes));
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

/// Memory of the current context's device.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count, T value = T{}) : count_(count) {
    expect_cuda(cuMemAlloc_v2(&address_, count * sizeof(T)));
    set(std::vector<T>(count, value));
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) { set(values); }
  ~DeviceBuffer() { cuMemFree_v2(address_); }
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

 private:
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
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
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

/// with_members(), every thread with device 0's context.
template <class Body>
void with_device_members(int ranks, Body&& body) {
  cuCtxSetCurrent(device_context(0));
  with_members(ranks, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(0));
    body(rank, comm);
  });
}

/// 1, 2, ... scaled: differs by rank and place, and stays exact.
inline std::vector<int> numbers(std::size_t count, int rank) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i % 1000) + rank * 1000;
  return values;
}

}  // namespace rondo::test
