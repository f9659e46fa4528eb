// CUDA's driver and cuBLAS, loaded at run time. The trainer links nothing of CUDA and runs without
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/cuda/image.h"
#include "tools/trainer/math/call.h"

struct cublasContext;
struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUmod_st;
struct CUstream_st;

namespace rondo {
/// The trainer's kernel.
DeviceImage train_image();
}  // namespace rondo

namespace rondo::train::device {

/// Names to pass to dlopen(): the first one found is used. "" means none.
struct Libraries {
  std::string driver = "libcuda.so.1";
  std::array<std::string, 3> cublas{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
};

using Pointer = std::uint64_t;  ///< CUdeviceptr; with unified addressing of host memory, too

inline Pointer address_of(const void* memory) { return reinterpret_cast<Pointer>(memory); }

/// The kernel's name in the image, the threads of a block, and those that share a row.
inline constexpr const char* kernel_name = "rondo_train";
inline constexpr unsigned block_threads = 256;
inline constexpr unsigned warp_lanes = 32;

/// A library that stays loaded: a process that has used CUDA cannot unload it. Any thread.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  /// Calls a function by its name and returns its status. The arguments have exactly the types that
  /// CUDA's headers declare, up to handles. Throws Error{invalid_usage} if there is no such
  /// function.
  template <class... Arguments>
  int status(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(symbol(name))(arguments...);
  }

 private:
  void* symbol(const char* name) const;
  void* handle_;
};

/// libcuda.so.1. Any thread.
class Driver : public Library {
 public:
  /// Throws Error{invalid_usage} that says what is missing.
  explicit Driver(const Libraries& libraries);
  /// As status(). Throws Error unless it succeeds: out_of_memory for CUDA's own, system for all
  /// else, naming `what` was tried.
  template <class... Arguments>
  void call(std::string_view what, const char* name, Arguments... arguments) const {
    check(status(name, arguments...), what);
  }
  void check(int status, std::string_view what) const;
};

/// Page-locked host memory, zeroed, which devices copy to and from directly while streams go on.
/// Freed with the last reference.
std::shared_ptr<std::byte> take_pinned(const Driver& driver, std::size_t bytes);

/// An event is complete when the stream has done the work that was in it when the event was
/// recorded.
class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event() { driver_.status("cuEventDestroy_v2", event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent_st* get() const { return event_; }
  void record(CUstream_st* stream) const {
    driver_.call("recording an event", "cuEventRecord", event_, stream);
  }
  void finish() const { driver_.call("waiting for a stream", "cuEventSynchronize", event_); }

 private:
  const Driver& driver_;
  CUevent_st* event_ = nullptr;
};

/// Belongs to one device; one thread at a time.
class Cublas {
 public:
  /// Throws Error{invalid_usage} if there is no cuBLAS.
  Cublas(const Libraries& libraries, CUstream_st* stream);
  ~Cublas() { library_.status("cublasDestroy_v2", handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Puts the products into the stream. They are computed in float32, not in a type of fewer bits.
  void multiply(const Product& product) const;

 private:
  Library library_{nullptr};
  cublasContext* handle_ = nullptr;
};

}  // namespace rondo::train::device
