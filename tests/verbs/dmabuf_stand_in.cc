// For LD_PRELOAD: makes Soft-RoCE devices register the dma-bufs of the stand-in for CUDA's driver.
// These are files, which a device reaches through a mapping in this process. Work requests name the
// memory by the GPU's addresses, as with real dma-bufs. With DMABUF_REFUSED in the environment
// devices register none, although they claim that they can.
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

/// The C library's dlsym(), whatever the library's age.
FindSymbol real_dlsym() {
  constexpr std::array versions{"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
  for (const char* const version : versions) {
    if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", version))
      return reinterpret_cast<FindSymbol>(found);
  }
  return nullptr;
}

using Register = decltype(&::ibv_reg_mr_iova2);
/// The real function of the library that this one stands for. It is set before any registration.
Register& register_mapping() {
  static Register function = nullptr;
  return function;
}

/// The mapping stays when the memory is deregistered.
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
