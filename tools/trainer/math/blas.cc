#include "tools/trainer/math/blas.h"

#include <cblas.h>

namespace rondo::train {
namespace {

CBLAS_TRANSPOSE order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
blasint size(std::size_t value) { return static_cast<blasint>(value); }

template <class Real, class Gemm>
void call(const Product<Real>& p, Gemm gemm) {
  if (p.rows == 0 || p.columns == 0) return;
  for (std::size_t i = 0; i < p.count; ++i) {
    gemm(CblasRowMajor, order(p.a.transposed), order(p.b.transposed), size(p.rows), size(p.columns),
         size(p.inner), p.scale, p.a.values + i * p.a.step, size(p.a.stride),
         p.b.values + i * p.b.step, size(p.b.stride), p.keep, p.c + i * p.step, size(p.stride));
  }
}

}  // namespace

void multiply(const Product<float>& product) { call(product, cblas_sgemm); }
void multiply(const Product<double>& product) { call(product, cblas_dgemm); }
void set_product_threads(int threads) { openblas_set_num_threads(threads); }

}  // namespace rondo::train
