#include <cblas.h>

#include "tools/trainer/math/call.h"

namespace rondo::train {

void multiply_on_host(const Product& p) {
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const auto size = [](std::size_t value) { return static_cast<blasint>(value); };
  for (std::size_t i = 0; i < p.count; ++i) {
    cblas_sgemm(CblasRowMajor, order(p.a.transposed), order(p.b.transposed), size(p.c.rows),
                size(p.c.columns), size(p.a.columns), p.scale, p.a.values + i * p.a.step,
                size(p.a.stride), p.b.values + i * p.b.step, size(p.b.stride), p.keep,
                p.c.values + i * p.c.step, size(p.c.stride));
  }
}

void set_product_threads(int threads) { openblas_set_num_threads(threads); }

}  // namespace rondo::train
