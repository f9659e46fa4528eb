#include "tools/trainer/math/blas.h"

#include <cblas.h>

namespace rondo::train {

void multiply_on_host(const Product& p) {
  const auto order = [](const Matrix& matrix) {
    return matrix.transposed ? CblasTrans : CblasNoTrans;
  };
  const auto size = [](std::size_t value) { return static_cast<blasint>(value); };
  if (p.rows == 0 || p.columns == 0) return;
  for (std::size_t i = 0; i < p.count; ++i) {
    cblas_sgemm(CblasRowMajor, order(p.a), order(p.b), size(p.rows), size(p.columns), size(p.inner),
                p.scale, p.a.values + i * p.a.step, size(p.a.stride), p.b.values + i * p.b.step,
                size(p.b.stride), p.keep, p.c + i * p.step, size(p.stride));
  }
}

void set_product_threads(int threads) { openblas_set_num_threads(threads); }

}  // namespace rondo::train
