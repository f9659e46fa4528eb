// Matrix products by OpenBLAS, row-major. The only file pair that knows its interface.
#pragma once

#include <cstddef>

namespace rondo::train {

/// A matrix as the product reads it: rows lie `stride` elements apart. `transposed` means that
/// memory holds the transpose.
template <class Real>
struct Matrix {
  const Real* values;
  std::size_t stride;
  bool transposed = false;
  std::size_t step = 0;  ///< elements to the matrix of the next product
};

/// c (rows x columns, rows `stride` apart) = scale * a * b + keep * c; a is rows x inner, b is
/// inner x columns. With keep == 0 the old c is not read. `count` such products, each with its own
/// c, `step` elements behind the one before.
template <class Real>
struct Product {
  std::size_t rows, columns, inner;
  Matrix<Real> a, b;
  Real* c;
  std::size_t stride;
  Real scale = 1;
  Real keep = 0;
  std::size_t count = 1;
  std::size_t step = 0;
};

void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

/// Threads of every product in this process. A rank a core needs one.
void set_product_threads(int threads);

}  // namespace rondo::train
