// Matrix products by OpenBLAS, row-major. Only this file and blas.cc use its interface.
#pragma once

#include <cstddef>

namespace rondo::train {

/// A matrix as the product reads it. Rows lie `stride` elements apart. `transposed`: the memory
/// holds the transpose.
struct Matrix {
  const float* values;
  std::size_t stride;
  bool transposed = false;
  std::size_t step = 0;  ///< elements to the matrix of the next product
};

/// c (rows x columns, rows `stride` apart) = scale * a * b + keep * c; a is rows x inner, b is
/// inner x columns. With keep == 0 the old c is not read. Makes `count` such products; each c lies
/// `step` elements after the one before.
struct Product {
  std::size_t rows, columns, inner;
  Matrix a, b;
  float* c;
  std::size_t stride;
  float scale = 1;
  float keep = 0;
  std::size_t count = 1;
  std::size_t step = 0;
};

void multiply_on_host(const Product& product);

/// Sets the threads of every product in this process. With a rank on each core, one is enough.
void set_product_threads(int threads);

}  // namespace rondo::train
