// For LD_PRELOAD: Soft-RoCE devices that register dma-bufs, as far as the stand-in for CUDA's
// driver gives such: they are files, which a device reaches by a mapping of them in this process.
// Work requests name the memory by the GPU's addresses, as with real ones. DMABUF_REFUSED in the
// environment: devices register none, although they can.
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using FindSymbol = void* (*)(void*, const char*);

/// The C library's, of whatever age.
FindSymbol real_dlsym() {
  constexpr std::array versions{"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
  for (const char* const version : versions) {
    if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", version))
      return reinterpret_cast<FindSymbol>(found);
  }
  return nullptr;
}

using Register = decltype(&::ibv_reg_mr_iova2);
/// Of the library that is asked for the other one; written before any registration.
Register& register_mapping() {
  static Register function = nullptr;
  return function;
}

/// The mapping stays: who deregisters is not asked.
ibv_mr* register_file(ibv_pd* domain, std::uint64_t offset, std::size_t bytes,
                      std::uint64_t address, int file, int access) {
  if (::fcntl(file, F_GETFD) < 0) {
    errno = EBADF;
    return nullptr;
  }
  if (std::getenv("DMABUF_REFUSED") != nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return nullptr;
  return register_mapping()(domain, mapped, bytes, address, static_cast<unsigned>(access));
}

}  // namespace

extern "C" void* dlsym(void* library, const char* name) {
  static const FindSymbol real = real_dlsym();
  if (std::strcmp(name, "ibv_reg_dmabuf_mr") != 0) return real(library, name);
  register_mapping() = reinterpret_cast<Register>(real(library, "ibv_reg_mr_iova2"));
  return reinterpret_cast<void*>(&register_file);
}
