#include "core/nccl/memory.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "core/base/log.h"
#include "core/base/undying.h"
#include "core/cuda/handles.h"
#include "core/cuda/segments.h"
#include "core/settings/settings.h"
#include "rondo/memory.h"

namespace rondo::nccl {
namespace {

/// Not initialised, shutting down, no context: then nothing was put into a stream either.
constexpr std::array idle_driver{cuda::not_initialized, cuda::deinitialized, cuda::invalid_context};

/// Owns memory of cuMemAlloc, taken in this thread's context.
class PlainMemory {
 public:
  explicit PlainMemory(std::size_t bytes) : context_(cuda::current_context()) {
    cuda::check(cuda::driver().mem_alloc(&address_, bytes), "cuMemAlloc");
  }
  ~PlainMemory() {
    if (address_ != 0) cuda::driver().mem_free(address_);
  }
  PlainMemory(PlainMemory&& other) noexcept
      : context_(other.context_), address_(std::exchange(other.address_, 0)) {}
  PlainMemory& operator=(PlainMemory&&) = delete;
  cuda::DevicePointer address() const { return address_; }
  void abandon() { address_ = 0; }
  /// Gives it back, from whatever thread. Throws CudaError, and then it is still there.
  void free() {
    const cuda::CurrentContext current(context_);
    cuda::check(cuda::driver().mem_free(address_), "cuMemFree");
    address_ = 0;
  }

 private:
  cuda::Context context_;  ///< the program's, as the block is
  cuda::DevicePointer address_ = 0;
};

using Block = std::variant<Memory, PlainMemory, cuda::MappedSegments>;

void* address_of(const Block& block) {
  if (const auto* const host = std::get_if<Memory>(&block)) return host->data();
  const auto* const plain = std::get_if<PlainMemory>(&block);
  const cuda::DevicePointer address =
      plain != nullptr ? plain->address() : std::get<cuda::MappedSegments>(block).address();
  return reinterpret_cast<void*>(address);
}

/// Blocks by address. Global, as the C API frees memory by nothing but its address; never
/// destroyed, as users may hold blocks until the very end.
struct Blocks {
  std::mutex mutex{};
  std::map<void*, Block> by_address{};
};

Blocks& blocks() {
  static Blocks& blocks = *undying<Blocks>();
  return blocks;
}

/// For a block whose context has gone, and its memory with it: the driver gives the address out
/// anew.
void abandon(Block& block) {
  if (auto* const plain = std::get_if<PlainMemory>(&block)) plain->abandon();
  if (auto* const segment = std::get_if<cuda::MappedSegments>(&block)) segment->abandon();
}

/// Throws CudaError, and then the block is there still.
void give_back(Block& block) {
  if (auto* const plain = std::get_if<PlainMemory>(&block)) plain->free();
  if (auto* const segment = std::get_if<cuda::MappedSegments>(&block)) segment->free();
}

/// Takes memory of the current context's device. Memory of cuMemCreate goes to other processes even
/// where CUDA IPC does not, as between containers. What cannot be had of it comes from cuMemAlloc.
Block take_on_device(std::size_t bytes) {
  const cuda::RelaxedCapture relaxed;  // taking memory is no part of what is captured
  const int device = cuda::current_device();
  const Config config = read_config();
  configure_log(config.debug);
  std::string why = config.segments ? cuda::why_no_segments(device) : "RONDO_CUMEM_ENABLE=0";
  try {
    if (why.empty()) return cuda::MappedSegments::make(bytes);
  } catch (const cuda::CudaError& error) {
    why = error.what();
  }
  log(LogLevel::info, -1, "ncclMemAlloc uses cuMemAlloc: " + why, LogSubsystem::alloc);
  return PlainMemory(bytes);
}

Block take(std::size_t bytes) {
  if (cuda::current_context() != nullptr) return take_on_device(bytes);
  return allocate(bytes);
}

}  // namespace

void require_host(const void* pointer, std::string_view name) {
  const cuda::MemoryKind kind = cuda::memory_at(pointer).kind;
  if (kind == cuda::MemoryKind::host) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(name) +
                  (kind == cuda::MemoryKind::device ? " is device memory" : " is not memory") +
                  ", but the host reads it at once",
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

int current_device() { return cuda::current_context() != nullptr ? cuda::current_device() : 0; }

Traits current_traits() {
  const cuda::Context current = cuda::current_context();
  if (current != nullptr) return {.context = cuda::borrowed(current), .device = current_device()};
  try {
    return {.context = cuda::primary_if_there(0)};
  } catch (const cuda::CudaError& error) {
    log(LogLevel::info, -1, std::string("no context on device 0: ") + error.what());
    return {};
  }
}

void* allocate_memory(std::size_t bytes) {
  // NCCL gives memory for 0 bytes as well; each block needs an address of its own.
  Block block = take(bytes == 0 ? 1 : bytes);
  void* const address = address_of(block);
  std::map<void*, Block>& known = blocks().by_address;
  const std::scoped_lock lock(blocks().mutex);
  if (const auto stale = known.find(address); stale != known.end()) {
    abandon(stale->second);
    known.erase(stale);
  }
  known.emplace(address, std::move(block));
  return address;
}

void free_memory(void* pointer) {
  if (pointer == nullptr) return;
  const cuda::RelaxedCapture relaxed;
  std::map<void*, Block>::node_type freed;  // freed without the lock: that may wait for a device
  {
    const std::scoped_lock lock(blocks().mutex);
    freed = blocks().by_address.extract(pointer);
  }
  if (freed.empty()) {
    throw Error(ErrorCode::invalid_argument, "no memory of ncclMemAlloc begins at this address",
                {.remedy = "free each block once, by the address that ncclMemAlloc returned"});
  }
  try {
    give_back(freed.mapped());
  } catch (const cuda::CudaError&) {
    const std::scoped_lock lock(blocks().mutex);
    blocks().by_address.insert(std::move(freed));  // its address is still taken
    throw;
  }
}

}  // namespace rondo::nccl
