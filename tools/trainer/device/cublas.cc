#include "tools/trainer/device/cublas.h"

#include <dlfcn.h>

#include "rondo/error.h"

namespace rondo::train::device {
namespace {

void check_cublas(int status, const char* function) {
  if (status == 0) return;
  throw Error(ErrorCode::system,
              std::string(function) + " failed with cuBLAS status " + std::to_string(status),
              {.remedy = "look for an earlier failure of CUDA, or run with --device cpu"});
}

}  // namespace

Cublas::Cublas(std::span<const std::string> names, CUstream_st* stream) {
  constexpr int pedantic = 2;  // CUBLAS_PEDANTIC_MATH: no TF32, whatever the environment says
  std::string tried;
  int created = -1;
  for (const std::string& name : names) {
    tried += (tried.empty() ? "" : ", ") + name;
    // It stays loaded: a process that has used CUDA cannot unload it.
    functions_ = Functions(::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
    if (functions_.find.missing() != nullptr) continue;
    created = functions_.create(&handle_);
    if (created == 0) break;  // else it is for a newer driver
  }
  if (created == -1) {
    throw Error(ErrorCode::invalid_usage, "cuBLAS cannot be loaded (" + tried + ")",
                {.remedy = "install it (Debian: libcublas12 or libcublas11; NVIDIA's packages: "
                           "libcublas-13-0), name its folder in LD_LIBRARY_PATH, or run with "
                           "--device cpu"});
  }
  check_cublas(created, "cublasCreate");
  check_cublas(functions_.set_stream(handle_, stream), "cublasSetStream");
  check_cublas(functions_.set_math_mode(handle_, pedantic), "cublasSetMathMode");
}

// cuBLAS stores matrices by columns, this program by rows. So cuBLAS sees every matrix transposed
// and computes c^T = b^T a^T.
void Cublas::multiply(const Product& p) const {
  const auto order = [](bool transposed) { return transposed ? 1 : 0; };
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  const auto step = [](std::size_t value) { return static_cast<long long>(value); };
  check_cublas(
      functions_.multiply(handle_, order(p.b.transposed), order(p.a.transposed), size(p.c.columns),
                          size(p.c.rows), size(p.a.columns), &p.scale, p.b.values, size(p.b.stride),
                          step(p.b.step), p.a.values, size(p.a.stride), step(p.a.step), &p.keep,
                          p.c.values, size(p.c.stride), step(p.c.step), size(p.count)),
      "cublasSgemmStridedBatched");
}

}  // namespace rondo::train::device
