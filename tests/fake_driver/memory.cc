// Device memory: one file mapped twice, once for the address that programs hold, which nobody can
// touch, and once for the fake's own copies.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

struct Block {
  std::size_t bytes;
  std::byte* reachable;  ///< of device memory: another address
  bool device;
  int number = 0;         ///< of its device
  int file = -1;          ///< of own device memory, by which other processes map it
  bool imported = false;  ///< another process's
};

/// What a handle says: the file of that process.
struct Exported {
  int pid;
  int file;
  std::size_t bytes;
};
static_assert(sizeof(Exported) <= sizeof(cuda::IpcHandle));

struct Blocks {
  std::mutex mutex{};
  std::map<cuda::DevicePointer, Block> by_address{};
};

Blocks& blocks() {
  static Blocks& blocks = *std::make_unique<Blocks>().release();
  return blocks;
}

/// The block that holds the address; with the mutex held.
std::map<cuda::DevicePointer, Block>::const_iterator find(cuda::DevicePointer address) {
  const auto& all = blocks().by_address;
  auto found = all.upper_bound(address);
  if (found == all.begin()) return all.end();
  --found;
  return address < found->first + found->second.bytes ? found : all.end();
}

void* map(int file, std::size_t bytes, int protection) {
  void* const address = ::mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return address;
}

cuda::DevicePointer add(int file, std::size_t bytes, int number, bool imported) {
  void* const device = map(file, bytes, PROT_NONE);
  auto* const own = static_cast<std::byte*>(map(file, bytes, PROT_READ | PROT_WRITE));
  const cuda::DevicePointer pointer = cuda::address_of(device);
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address[pointer] = {bytes, own, true, number, imported ? -1 : file, imported};
  return pointer;
}

int allocate(cuda::DevicePointer* pointer, std::size_t bytes, int number) {
  const int file = ::memfd_create("fake device memory", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return 2;
  *pointer = add(file, bytes, number, false);
  return cuda::success;
}

/// Of own memory, or of another process's.
int remove(cuda::DevicePointer pointer, bool imported) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = blocks().by_address.find(pointer);
  if (found == blocks().by_address.end() || !found->second.device) return invalid_value;
  if (found->second.imported != imported) return invalid_value;
  const Block block = found->second;
  blocks().by_address.erase(found);
  // What streams still copy of own memory, the real driver lets come to its end before it frees.
  const std::shared_ptr<void> mappings(reinterpret_cast<void*>(pointer), [block](void* device) {
    ::munmap(device, block.bytes);
    ::munmap(block.reachable, block.bytes);
    if (!block.imported) ::close(block.file);
  });
  if (!imported) keep_for_streams(block.number, mappings);
  return cuda::success;
}

}  // namespace

std::byte* reachable(cuda::DevicePointer address, std::size_t bytes) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(address);
  if (found == blocks().by_address.end()) return nullptr;
  const std::size_t offset = address - found->first;
  return offset + bytes <= found->second.bytes ? found->second.reachable + offset : nullptr;
}

int device_number(cuda::DevicePointer address) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(address);
  return found != blocks().by_address.end() && found->second.device ? found->second.number : -1;
}

bool is_device(cuda::DevicePointer address) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(address);
  return found != blocks().by_address.end() && found->second.device;
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::DevicePointer;
using rondo::cuda::success;

extern "C" {

int cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
  if (const int status = enter("cuPointerGetAttribute")) return status;
  if (reachable(pointer, 1) == nullptr) return invalid_value;
  constexpr unsigned host_memory = 1;
  switch (attribute) {
    case rondo::cuda::attribute_memory_type:
      *static_cast<unsigned*>(data) = is_device(pointer) ? rondo::cuda::device_memory : host_memory;
      return success;
    case rondo::cuda::attribute_device_ordinal:
      *static_cast<int*>(data) = device_number(pointer);
      return success;
    case rondo::cuda::attribute_ipc_capable:
      *static_cast<int*>(data) = is_device(pointer) ? 1 : 0;
      return success;
    default:
      return invalid_value;
  }
}

int cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  if (const int status = enter_unsafe("cuMemAlloc")) return status;
  int number = 0;
  if (const int status = cuCtxGetDevice(&number)) return status;
  return bytes == 0 ? invalid_value : allocate(pointer, bytes, number);
}

int cuMemFree_v2(DevicePointer pointer) {
  if (const int status = enter_unsafe("cuMemFree")) return status;
  return remove(pointer, false);
}

int cuIpcGetMemHandle(rondo::cuda::IpcHandle* handle, DevicePointer pointer) {
  if (const int status = enter("cuIpcGetMemHandle")) return status;
  const std::scoped_lock lock(blocks().mutex);
  const auto found = blocks().by_address.find(pointer);
  if (found == blocks().by_address.end() || found->second.file < 0) return invalid_value;
  const Exported exported{::getpid(), found->second.file, found->second.bytes};
  *handle = {};
  std::memcpy(handle->reserved, &exported, sizeof exported);
  return success;
}

int cuIpcOpenMemHandle_v2(DevicePointer* pointer, rondo::cuda::IpcHandle handle, unsigned flags) {
  if (const int status = enter_unsafe("cuIpcOpenMemHandle")) return status;
  Exported exported{};
  std::memcpy(&exported, handle.reserved, sizeof exported);
  // As the real one, it does not map what this very process exported.
  if (flags != rondo::cuda::ipc_lazy_peer_access || exported.pid == ::getpid())
    return invalid_value;
  const std::string path =
      "/proc/" + std::to_string(exported.pid) + "/fd/" + std::to_string(exported.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return invalid_value;
  int number = 0;  // by the flag the current device reaches it as its own
  cuCtxGetDevice(&number);
  *pointer = add(file, exported.bytes, number, true);
  ::close(file);
  return success;
}

int cuIpcCloseMemHandle(DevicePointer pointer) {
  if (const int status = enter_unsafe("cuIpcCloseMemHandle")) return status;
  return remove(pointer, true);
}

int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned /*flags*/) {
  if (const int status = enter_unsafe("cuMemHostRegister")) return status;
  constexpr int already_registered = 712;
  const std::scoped_lock lock(blocks().mutex);
  const bool fresh = blocks()
                         .by_address
                         .try_emplace(rondo::cuda::address_of(memory),
                                      Block{bytes, static_cast<std::byte*>(memory), false})
                         .second;
  return fresh ? success : already_registered;
}

int cuMemHostUnregister(void* memory) {
  if (const int status = enter_unsafe("cuMemHostUnregister")) return status;
  const std::scoped_lock lock(blocks().mutex);
  constexpr int not_registered = 713;
  return blocks().by_address.erase(rondo::cuda::address_of(memory)) == 1 ? success : not_registered;
}

int cuMemHostGetDevicePointer_v2(DevicePointer* pointer, void* memory, unsigned /*flags*/) {
  if (const int status = enter("cuMemHostGetDevicePointer")) return status;
  *pointer = rondo::cuda::address_of(memory);
  return reachable(*pointer, 1) != nullptr ? success : invalid_value;
}

int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  if (const int status = enter("cuMemcpyHtoD")) return status;
  std::byte* const target = reachable(to, bytes);
  if (target == nullptr) return invalid_value;
  std::memcpy(target, from, bytes);
  return success;
}

int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  if (const int status = enter("cuMemcpyDtoH")) return status;
  const std::byte* const source = reachable(from, bytes);
  if (source == nullptr) return invalid_value;
  std::memcpy(to, source, bytes);
  return success;
}

int fake_blocks() {
  const std::scoped_lock lock(blocks().mutex);
  return static_cast<int>(blocks().by_address.size());
}
}
