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
  ~Cublas() { library_.status("cublasDestroy_v2", handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Puts the products into the stream. They are computed in float32, not in a type of fewer bits.
  void multiply(const Product& product) const;

 private:
  Library library_{nullptr};
  cublasContext* handle_ = nullptr;
};

}  // namespace rondo::train::device
