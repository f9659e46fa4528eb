// Matrix products on a device by cuBLAS, found at run time.
#pragma once

#include "tools/trainer/device/driver.h"
#include "tools/trainer/math/blas.h"

struct cublasContext;

namespace rondo::train::device {

/// Belongs to one device; one thread at a time.
class Cublas {
 public:
  /// Throws Error{invalid_usage} if there is no cuBLAS.
  Cublas(const Libraries& libraries, CUstream_st* stream);
  ~Cublas() { destroy_(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Puts the products into the stream. They are computed in float32, not in a type of fewer bits.
  void multiply(const Product& product) const;

 private:
  int (*create_)(cublasContext**) = nullptr;
  int (*destroy_)(cublasContext*) = nullptr;
  int (*set_stream_)(cublasContext*, CUstream_st*) = nullptr;
  int (*set_math_mode_)(cublasContext*, int) = nullptr;
  int (*gemm_)(cublasContext*, int, int, int, int, int, const float*, const float*, int, long long,
               const float*, int, long long, const float*, float*, int, long long, int) = nullptr;
  cublasContext* handle_ = nullptr;
};

}  // namespace rondo::train::device
