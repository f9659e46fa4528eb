// Device memory, streams and events of CUDA's runtime that free themselves.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rondo/error.h"

namespace rondo::device {

/// Throws Error{out_of_memory or system} that says what was attempted, unless `status` is success.
inline void demand(cudaError_t status, const std::string& attempt) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // not left for the caller's next CUDA call to find
  const bool memory = status == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCode::out_of_memory : ErrorCode::system,
              attempt + " failed: " + cudaGetErrorString(status));
}

/// Zeroed memory of the current device; freed when this goes. Move-only.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    void* made = nullptr;
    demand(cudaMalloc(&made, bytes == 0 ? 1 : bytes),
           "allocating " + std::to_string(bytes) + " bytes of device memory");
    memory_.reset(static_cast<std::byte*>(made));
    demand(cudaMemset(made, 0, bytes), "clearing device memory");
  }
  /// A copy of host memory.
  template <class T>
  explicit DeviceMemory(const std::vector<T>& from) : DeviceMemory(from.size() * sizeof(T)) {
    copy_from(from.data(), bytes_);
  }

  std::byte* data() const { return memory_.get(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  std::size_t bytes() const { return bytes_; }
  /// Copies, after everything that is under way on the default stream.
  void copy_from(const void* from, std::size_t bytes, std::size_t offset = 0) {
    demand(cudaMemcpy(data() + offset, from, bytes, cudaMemcpyHostToDevice), "copying to a device");
  }
  void copy_to(void* to, std::size_t bytes, std::size_t offset = 0) const {
    demand(cudaMemcpy(to, data() + offset, bytes, cudaMemcpyDeviceToHost), "copying from a device");
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { (void)cudaFree(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_{};
  std::size_t bytes_ = 0;
};

/// A stream of its own.
class Stream {
 public:
  Stream() {
    demand(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void synchronize() const { demand(cudaStreamSynchronize(stream_), "waiting for a stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream's time.
class Event {
 public:
  Event() { demand(cudaEventCreate(&event_), "making an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) {
    demand(cudaEventRecord(event_, stream.get()), "recording an event");
  }
  /// Seconds from `begin`; waits for both.
  double seconds_since(const Event& begin) const {
    demand(cudaEventSynchronize(event_), "waiting for an event");
    float milliseconds = 0;
    demand(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "reading a time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace rondo::device
