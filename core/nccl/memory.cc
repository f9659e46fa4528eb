#include "core/nccl/memory.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "core/cuda/handles.h"
#include "rondo/memory.h"

namespace rondo::nccl {
namespace {

/// Not initialised, shutting down, no context: then nothing was put into a stream either.
constexpr std::array idle_driver{cuda::not_initialized, cuda::deinitialized, cuda::invalid_context};

/// Owns device memory.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    cuda::check(cuda::driver().mem_alloc(&address_, bytes), "cuMemAlloc");
  }
  ~DeviceMemory() {
    if (address_ != 0) cuda::driver().mem_free(address_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept : address_(std::exchange(other.address_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  void* data() const { return reinterpret_cast<void*>(address_); }

 private:
  cuda::DevicePointer address_ = 0;
};

using Block = std::variant<Memory, DeviceMemory>;

/// Blocks by address. Global, as the C API frees memory by nothing but its address; never
/// destroyed, as users may hold blocks until the very end.
struct Blocks {
  std::mutex mutex{};
  std::map<void*, Block> by_address{};
};

Blocks& blocks() {
  static Blocks& blocks = *std::make_unique<Blocks>().release();
  return blocks;
}

Block take(std::size_t bytes) {
  if (current_context() != nullptr) return DeviceMemory(bytes);
  return allocate(bytes);
}

}  // namespace

void require_host(const void* pointer, std::string_view name) {
  if (!cuda::is_device_memory(pointer)) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(name) + " is device memory but is read by the host at once",
              {.remedy = "pass ncclScalarDevice, or the address of a variable"});
}

void finish_stream(cudaStream_t stream) {
  const cuda::Driver* const driver = cuda::find_driver();
  if (driver == nullptr) return;
  const cuda::RelaxedCapture relaxed;  // another stream may be captured meanwhile
  const int status = driver->stream_synchronize(stream);
  for (const int idle : idle_driver) {
    if (status == idle) return;
  }
  cuda::check(status, "cuStreamSynchronize");
}

cuda::Context current_context() {
  const cuda::Driver* const driver = cuda::find_driver();
  cuda::Context context = nullptr;
  if (driver == nullptr || driver->ctx_get_current(&context) != cuda::success) return nullptr;
  return context;
}

int current_device() {
  int device = 0;
  if (current_context() != nullptr)
    cuda::check(cuda::find_driver()->ctx_get_device(&device), "cuCtxGetDevice");
  return device;
}

void* allocate_memory(std::size_t bytes) {
  // NCCL gives memory for 0 bytes as well; each block needs an address of its own.
  Block block = take(bytes == 0 ? 1 : bytes);
  void* const address = std::visit([](const auto& memory) { return memory.data(); }, block);
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address.emplace(address, std::move(block));
  return address;
}

void free_memory(void* pointer) {
  if (pointer == nullptr) return;
  std::map<void*, Block>::node_type freed;  // behind the lock: freeing may wait for a device
  {
    const std::scoped_lock lock(blocks().mutex);
    freed = blocks().by_address.extract(pointer);
  }
  if (freed.empty()) {
    throw Error(ErrorCode::invalid_argument, "no memory of ncclMemAlloc begins at this address",
                {.remedy = "free each block once, by the address that ncclMemAlloc returned"});
  }
}

}  // namespace rondo::nccl
