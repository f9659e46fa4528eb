// The operations on arrays, by number, and their arguments, and products of matrices. All operations
// have the same few fields, so the code that runs one knows which memory it reaches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace rondo::train {

// clang-format off
/// Every operation, by the name of its function in kernels.h: X(name).
#define RONDO_TRAIN_KERNELS(X)                                                       \
  X(repeat) X(add_rows) X(gelu) X(gelu_backward) X(add)                              \
  X(layer_norm) X(layer_norm_rows) X(layer_norm_columns)                             \
  X(embed) X(embed_tokens) X(causal_softmax) X(softmax_backward)  \
  X(cross_entropy) X(cross_entropy_backward) X(squares) X(sgd) X(adamw)
// clang-format on

#define RONDO_TRAIN_NUMBER(name) name,
enum class Kernel : std::uint32_t { RONDO_TRAIN_KERNELS(RONDO_TRAIN_NUMBER) };
#undef RONDO_TRAIN_NUMBER

struct Buffer {
  std::uint64_t at;     ///< an address in the machine's memory; 0: none
  std::uint64_t bytes;  ///< how many the kernel may reach from there
};

/// Plain data, passed by value, with the same layout on host and device. kernels.h says what the
/// fields mean.
struct Call {
  static constexpr std::size_t max_buffers = 6;
  Kernel kernel;
  Buffer buffers[max_buffers];
  std::uint64_t sizes[4];
  float numbers[8];
};

template <class T>
Buffer buffer_of(std::span<T> values) {
  return {reinterpret_cast<std::uint64_t>(values.data()), values.size_bytes()};
}

inline Call make_call(Kernel kernel, std::initializer_list<Buffer> buffers,
                      std::initializer_list<std::uint64_t> sizes = {},
                      std::span<const float> numbers = {}) {
  Call call{};
  call.kernel = kernel;
  std::copy(buffers.begin(), buffers.end(), call.buffers);
  std::copy(sizes.begin(), sizes.end(), call.sizes);
  std::copy(numbers.begin(), numbers.end(), call.numbers);
  return call;
}

/// A matrix in memory, or the first of several alike: rows lie `stride` elements apart, matrices
/// `step` elements. T is const float or float.
template <class T>
struct Matrix {
  T* values;
  std::size_t rows, columns;
  std::size_t stride = columns;
  std::size_t step = 0;
  bool transposed = false;  ///< rows and columns are those of the memory's transpose

  Matrix flipped() const { return {values, columns, rows, stride, step, !transposed}; }
};

/// c = scale * a * b + keep * c, `count` times. With keep == 0 the old c is not read.
struct Product {
  Matrix<const float> a, b;
  Matrix<float> c;
  float scale = 1;
  float keep = 0;
  std::size_t count = 1;
};

}  // namespace rondo::train
