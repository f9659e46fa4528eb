// A cuBLAS without a GPU, for tests: the functions that the trainer calls, on the fake driver's
// streams and memory, by OpenBLAS.
#include <cblas.h>

#include <memory>

#include "tests/fake_driver/state.h"

struct cublasContext {
  rondo::cuda::Stream stream = nullptr;
};

namespace rondo::test {
namespace {

constexpr int not_supported = 15;
constexpr int invalid = 7;

/// Column-major products of matrices, which OpenBLAS makes one by one.
struct Gemm {
  int rows, columns, inner, count;
  CBLAS_TRANSPOSE a_order, b_order;
  float scale, keep;
  const float* a;
  const float* b;
  float* c;
  int a_stride, b_stride, c_stride;
  long long a_step, b_step, c_step;

  void run() const {
    for (int i = 0; i < count; ++i) {
      cblas_sgemm(CblasColMajor, a_order, b_order, rows, columns, inner, scale, a + i * a_step,
                  a_stride, b + i * b_step, b_stride, keep, c + i * c_step, c_stride);
    }
  }
};

CBLAS_TRANSPOSE order(int transposed) { return transposed != 0 ? CblasTrans : CblasNoTrans; }

/// The address at which the fake reaches `count` matrices; null: it cannot.
float* reached(const float* at, int rows, int columns, int stride, long long step, int count) {
  const long long last = (count - 1) * step + static_cast<long long>(columns - 1) * stride + rows;
  const auto bytes = static_cast<std::size_t>(last) * sizeof(float);
  return reinterpret_cast<float*>(reachable(cuda::address_of(at), bytes));
}

}  // namespace
}  // namespace rondo::test

using namespace rondo::test;

extern "C" {

int cublasCreate_v2(cublasContext** handle) {
  if (enter("cublasCreate") != rondo::cuda::success) return invalid;
  *handle = std::make_unique<cublasContext>().release();
  return 0;
}

int cublasDestroy_v2(cublasContext* handle) {
  const std::unique_ptr<cublasContext> last(handle);
  return 0;
}

int cublasSetStream_v2(cublasContext* handle, rondo::cuda::Stream stream) {
  handle->stream = stream;
  return 0;
}

int cublasSetMathMode(cublasContext* /*handle*/, int mode) {
  constexpr int pedantic = 2;
  return mode == pedantic ? 0 : not_supported;
}

int cublasSgemmStridedBatched(cublasContext* handle, int a_order, int b_order, int rows,
                              int columns, int inner, const float* scale, const float* a,
                              int a_stride, long long a_step, const float* b, int b_stride,
                              long long b_step, const float* keep, float* c, int c_stride,
                              long long c_step, int count) {
  if (enter("cublasSgemmStridedBatched") != rondo::cuda::success) return invalid;
  if (rows < 1 || columns < 1 || inner < 1 || count < 1 || c_stride < rows) return invalid;
  if (a_stride < (a_order == 0 ? rows : inner) || b_stride < (b_order == 0 ? inner : columns))
    return invalid;
  const Gemm gemm{.rows = rows,
                  .columns = columns,
                  .inner = inner,
                  .count = count,
                  .a_order = order(a_order),
                  .b_order = order(b_order),
                  .scale = *scale,
                  .keep = *keep,
                  .a = reached(a, a_order == 0 ? rows : inner, a_order == 0 ? inner : rows,
                               a_stride, a_step, count),
                  .b = reached(b, b_order == 0 ? inner : columns, b_order == 0 ? columns : inner,
                               b_stride, b_step, count),
                  .c = reached(c, rows, columns, c_stride, c_step, count),
                  .a_stride = a_stride,
                  .b_stride = b_stride,
                  .c_stride = c_stride,
                  .a_step = a_step,
                  .b_step = b_step,
                  .c_step = c_step};
  if (gemm.a == nullptr || gemm.b == nullptr || gemm.c == nullptr) return invalid;
  const std::scoped_lock lock(state().mutex);
  put(resolve(handle->stream), [gemm](Launch&) -> Work { return [gemm] { gemm.run(); }; });
  return 0;
}
}
