// CUDA's driver, loaded at run time. The trainer links nothing of CUDA and runs without it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/error.h"

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUmod_st;
struct CUstream_st;

namespace rondo::train::device {

/// Names to pass to dlopen(): the first one found is used. "" means none.
struct Libraries {
  std::string driver = "libcuda.so.1";
  std::array<std::string, 3> cublas{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
};

using Pointer = std::uint64_t;  ///< CUdeviceptr; with unified addressing of host memory, too

inline Pointer address_of(const void* memory) { return reinterpret_cast<Pointer>(memory); }

/// A library that stays loaded: a process that has used CUDA cannot unload it.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  /// Throws Error{invalid_usage} if there is no such function.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_;
};

/// The functions of libcuda.so.1 that the trainer calls, as its header declares them; all return
/// CUresult. Any thread.
struct Driver {
  /// Throws Error{invalid_usage} that says what is missing.
  explicit Driver(const Libraries& libraries);

  int (*init)(unsigned) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*context_retain)(CUctx_st**, int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_set)(CUctx_st*) = nullptr;
  int (*module_load)(CUmod_st**, const void*) = nullptr;
  int (*module_function)(CUfunc_st**, CUmod_st*, const char*) = nullptr;
  int (*launch)(CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream_st*, void**, void**) = nullptr;
  int (*memory_left)(std::size_t* available,
                     std::size_t* all) = nullptr;  ///< of the context's device
  int (*device_name)(void* uuid, int) = nullptr;   ///< 16 bytes, of a MIG instance its own
  int (*allocate)(Pointer*, std::size_t) = nullptr;
  int (*free)(Pointer) = nullptr;
  int (*lock_pages)(void*, std::size_t, unsigned) = nullptr;
  int (*unlock_pages)(void*) = nullptr;
  int (*copy)(Pointer to, Pointer from, std::size_t, CUstream_st*) = nullptr;
  int (*stream_create)(CUstream_st**, unsigned) = nullptr;
  int (*stream_destroy)(CUstream_st*) = nullptr;
  int (*stream_finish)(CUstream_st*) = nullptr;
  int (*stream_wait)(CUstream_st*, CUevent_st*, unsigned) = nullptr;
  int (*event_create)(CUevent_st**, unsigned) = nullptr;
  int (*event_destroy)(CUevent_st*) = nullptr;
  int (*event_record)(CUevent_st*, CUstream_st*) = nullptr;
  int (*event_finish)(CUevent_st*) = nullptr;

  /// Throws Error: out_of_memory for CUDA's own, system for all else, naming `what` was tried.
  void check(int status, std::string_view what) const;
};

}  // namespace rondo::train::device
