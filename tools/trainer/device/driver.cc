#include "tools/trainer/device/driver.h"

#include <dlfcn.h>

#include "rondo/error.h"

namespace rondo::train::device {
namespace {

void* open_driver(const Libraries& libraries) {
  if (void* const handle = ::dlopen(libraries.driver.c_str(), RTLD_LAZY | RTLD_LOCAL))
    return handle;
  throw Error(ErrorCode::invalid_usage,
              "there is no GPU that could be used: this machine has no " + libraries.driver,
              {.remedy = "run where NVIDIA's driver is installed, or with --device cpu"});
}

void check_cublas(int status, const char* function) {
  if (status == 0) return;
  throw Error(ErrorCode::system,
              std::string(function) + " failed with cuBLAS status " + std::to_string(status),
              {.remedy = "look for an earlier failure of CUDA, or run with --device cpu"});
}

}  // namespace

void* Library::symbol(const char* name) const {
  if (void* const found = ::dlsym(handle_, name)) return found;
  throw Error(ErrorCode::invalid_usage,
              std::string("this machine's CUDA libraries have no function ") + name,
              {.remedy = "a newer driver and libcublas (CUDA 11.7 or later), or --device cpu"});
}

Driver::Driver(const Libraries& libraries) : Library(open_driver(libraries)) {}

void Driver::check(int status, std::string_view what) const {
  constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
  if (status == 0) return;
  const char* name = nullptr;
  this->status("cuGetErrorName", status, &name);
  const std::string said = std::string(what) + " failed with CUDA error " + std::to_string(status) +
                           (name != nullptr ? " (" + std::string(name) + ")" : "");
  if (status == out_of_memory) {
    throw Error(ErrorCode::out_of_memory, said,
                {.remedy = "a smaller model or batch, --checkpoint-activations, or a "
                           "strategy that shards (zero3 most)"});
  }
  throw Error(ErrorCode::system, said,
              {.remedy = "look for an earlier failure of CUDA, or run with --device cpu"});
}

Cublas::Cublas(const Libraries& libraries, CUstream_st* stream) {
  constexpr int pedantic = 2;  // CUBLAS_PEDANTIC_MATH: no TF32, whatever the environment says
  std::string tried;
  bool loaded = false;
  int created = -1;
  for (const std::string& name : libraries.cublas) {
    tried += (tried.empty() ? "" : ", ") + name;
    void* const found = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (found == nullptr) continue;
    loaded = true;
    library_ = Library(found);
    created = library_.status("cublasCreate_v2", &handle_);
    if (created == 0) break;  // else it is for a newer driver
  }
  if (!loaded) {
    throw Error(ErrorCode::invalid_usage, "cuBLAS cannot be loaded (" + tried + ")",
                {.remedy = "install it (Debian: libcublas12 or libcublas11; NVIDIA's packages: "
                           "libcublas-13-0), name its folder in LD_LIBRARY_PATH, or run with "
                           "--device cpu"});
  }
  check_cublas(created, "cublasCreate");
  check_cublas(library_.status("cublasSetStream_v2", handle_, stream), "cublasSetStream");
  check_cublas(library_.status("cublasSetMathMode", handle_, pedantic), "cublasSetMathMode");
}

// cuBLAS stores matrices by columns, this program by rows. So cuBLAS sees every matrix transposed
// and computes c^T = b^T a^T.
void Cublas::multiply(const Product& p) const {
  const auto order = [](bool transposed) { return transposed ? 1 : 0; };
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  const auto step = [](std::size_t value) { return static_cast<long long>(value); };
  check_cublas(
      library_.status("cublasSgemmStridedBatched", handle_, order(p.b.transposed),
                      order(p.a.transposed), size(p.c.columns), size(p.c.rows), size(p.a.columns),
                      &p.scale, p.b.values, size(p.b.stride), step(p.b.step), p.a.values,
                      size(p.a.stride), step(p.a.step), &p.keep, p.c.values, size(p.c.stride),
                      step(p.c.step), size(p.count)),
      "cublasSgemmStridedBatched");
}

}  // namespace rondo::train::device
