// Buffer: a Python array in the form that rondo takes.
//
// It takes objects with the buffer protocol (numpy's arrays, bytearray, array.array, memoryview,
// rondo's own Memory) and objects with __dlpack__ (tensors of torch and other libraries on the
// CPU).
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "rondo/rondo.h"

namespace rondo_python {

namespace py = pybind11;

struct ElementType {
  std::optional<rondo::DataType> type{};  ///< empty: such elements can only be moved, as bytes
  std::size_t bytes = 1;
  bool boolean = false;
  bool complex = false;  ///< `type` is that of its two parts
};

/// Keeps the Python object and its memory alive. Made and destroyed while holding Python's lock.
class Buffer {
 public:
  enum class Use { read, write };

  /// Throws rondo::Error{invalid_argument} that names `call`, the problem (no array, not
  /// contiguous, on another device, not writable) and the remedy.
  Buffer(const py::handle& object, Use use, const char* call);

  void* data() const { return data_; }
  std::size_t elements() const { return elements_; }
  const ElementType& element() const { return element_; }

 private:
  void take_view(const py::handle& object, Use use, const char* call);
  void take_dlpack(const py::handle& object, const char* call);

  std::shared_ptr<void> owner_{};  ///< gives the memory back
  void* data_ = nullptr;
  std::size_t elements_ = 0;
  ElementType element_{};
};

/// Throws Error{invalid_argument} for `call`, with the problem `what` and the remedy.
[[noreturn]] void refuse(const char* call, const std::string& what, const std::string& remedy);

}  // namespace rondo_python
