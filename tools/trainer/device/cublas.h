// cuBLAS, loaded at run time.
#pragma once

#include <span>
#include <string>

#include "core/base/symbols.h"
#include "tools/trainer/math/call.h"

struct cublasContext;
struct CUstream_st;

namespace rondo::train::device {

/// Belongs to one device; one thread at a time.
class Cublas {
 public:
  /// Takes the first of these libraries that works. Throws Error{invalid_usage} if there is none.
  Cublas(std::span<const std::string> names, CUstream_st* stream);
  ~Cublas() { functions_.destroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Puts the products into the stream. They are computed in float32, not in a type of fewer bits.
  void multiply(const Product& product) const;

 private:
  /// By their names without "cublas" and version, with the types of CUDA's headers.
  struct Functions {
    explicit Functions(void* library) : find(library) {}
    Symbols find;
    int (*create)(cublasContext**) = find("cublasCreate_v2");
    int (*destroy)(cublasContext*) = find("cublasDestroy_v2");
    int (*set_stream)(cublasContext*, CUstream_st*) = find("cublasSetStream_v2");
    int (*set_math_mode)(cublasContext*, int) = find("cublasSetMathMode");
    int (*multiply)(cublasContext*, int, int, int, int, int, const float*, const float*, int,
                    long long, const float*, int, long long, const float*, float*, int, long long,
                    int) = find("cublasSgemmStridedBatched");
  };

  Functions functions_{nullptr};
  cublasContext* handle_ = nullptr;
};

}  // namespace rondo::train::device
