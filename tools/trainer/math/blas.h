// Matrix products by OpenBLAS, row-major. Only this file and blas.cc use its interface.
#pragma once

#include <cstddef>

namespace rondo::train {

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

void multiply_on_host(const Product& product);

/// Sets the threads of every product in this process. With a rank on each core, one is enough.
void set_product_threads(int threads);

}  // namespace rondo::train
