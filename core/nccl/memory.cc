#include "core/nccl/memory.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/nccl/errors.h"
#include "rondo/memory.h"

namespace rondo::nccl {
namespace {

/// The two functions of the driver that are needed, and the numbers of its that they speak in.
struct Driver {
  int (*get_attribute)(void* data, int attribute, std::uintptr_t pointer) = nullptr;
  int (*synchronize)(cudaStream_t stream) = nullptr;
};
constexpr int memory_type = 2;         // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned device_memory = 2;  // CU_MEMORYTYPE_DEVICE; managed memory says so, too
constexpr int success = 0;
/// Not initialised, shutting down, no context: then nothing was put into a stream either.
constexpr std::array idle_driver{3, 4, 201};

/// How many libraries this process has loaded, ever.
unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

const Driver* find_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto driver = std::make_unique<Driver>();
  driver->get_attribute =
      reinterpret_cast<decltype(Driver::get_attribute)>(::dlsym(library, "cuPointerGetAttribute"));
  driver->synchronize =
      reinterpret_cast<decltype(Driver::synchronize)>(::dlsym(library, "cuStreamSynchronize"));
  if (driver->get_attribute == nullptr || driver->synchronize == nullptr) return nullptr;
  return driver.release();  // as the driver itself, it stays
}

/// The driver if this process has loaded it, which other code may do at any time: looked for again
/// whenever libraries have been loaded. Global, as the driver is; the answer cannot depend on who
/// asks.
const Driver* driver() {
  static std::atomic<const Driver*> found{nullptr};     // release when found, acquire to use it
  static std::atomic<unsigned long long> looked_at{0};  // relaxed: a second look does no harm
  const Driver* known = found.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const unsigned long long loaded = libraries_loaded();
  if (looked_at.load(std::memory_order_relaxed) == loaded) return nullptr;
  known = find_driver();
  if (known != nullptr) found.store(known, std::memory_order_release);
  looked_at.store(loaded, std::memory_order_relaxed);
  return known;
}

/// Blocks by address. Global, as the C API frees memory by nothing but its address; never
/// destroyed, as users may hold blocks until the very end.
struct Blocks {
  std::mutex mutex{};
  std::map<void*, Memory> by_address{};
};

Blocks& blocks() {
  static Blocks& blocks = *std::make_unique<Blocks>().release();
  return blocks;
}

}  // namespace

bool has_driver() { return driver() != nullptr; }

Place place_of(const void* pointer) {
  const Driver* const cuda = driver();
  if (cuda == nullptr || pointer == nullptr) return Place::host;
  unsigned type = 0;
  const int status =
      cuda->get_attribute(&type, memory_type, reinterpret_cast<std::uintptr_t>(pointer));
  return status == success && type == device_memory ? Place::device : Place::host;
}

void require_host(const void* pointer, std::string_view name) {
  if (place_of(pointer) == Place::host) return;
  throw Error(ErrorCode::invalid_usage,
              std::string(name) +
                  " is device memory, and device buffers are not served yet by "
                  "this build of rondo",
              {.remedy = "pass host memory, or run this program with NVIDIA's libnccl.so.2"});
}

void finish_stream(cudaStream_t stream) {
  const Driver* const cuda = driver();
  if (cuda == nullptr) return;
  const int status = cuda->synchronize(stream);
  if (status == success) return;
  for (const int idle : idle_driver) {
    if (status == idle) return;
  }
  throw CudaError(ErrorCode::system,
                  "cuStreamSynchronize failed with CUDA error " + std::to_string(status),
                  {.remedy = "look for an earlier failure of CUDA in this process"});
}

void* allocate_memory(std::size_t bytes) {
  // NCCL gives memory for 0 bytes as well; each block needs an address of its own.
  Memory memory = allocate(bytes == 0 ? 1 : bytes);
  void* const address = memory.data();
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address.emplace(address, std::move(memory));
  return address;
}

void free_memory(void* pointer) {
  if (pointer == nullptr) return;
  const std::scoped_lock lock(blocks().mutex);
  if (blocks().by_address.erase(pointer) == 0) {
    throw Error(ErrorCode::invalid_argument, "no memory of ncclMemAlloc begins at this address",
                {.remedy = "free each block once, by the address that ncclMemAlloc returned"});
  }
}

}  // namespace rondo::nccl
