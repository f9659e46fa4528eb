// Device memory: an address that programs hold and that no code can touch, and a file mapped for
// the fake's own copies. After each block comes an unmapped page, and the addresses of freed blocks
// stay reserved. So memory that was freed, or lies beyond a block, is never valid.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

/// What a handle says: a process, and its file that is the memory.
struct Exported {
  int pid = 0;
  int file = -1;
  std::size_t bytes = 0;
  friend bool operator==(const Exported&, const Exported&) = default;
};

struct Block {
  std::size_t bytes;
  std::byte* reachable;  ///< the fake's own address; device memory has another
  bool device;
  int number = 0;                     ///< its device's
  int file = -1;                      ///< own device memory: by which other processes map it
  bool imported = false;              ///< memory of another process
  bool shared = true;                 ///< own device memory that has a handle
  bool managed = false;               ///< from cuMemAllocManaged
  Exported source{};                  ///< imported memory: where it is from
  int opens = 1;                      ///< imported memory: how often it is open
  bool segment = false;               ///< from cuMemCreate
  bool mapped = false;                ///< page-locked memory as devices know it
  cuda::DevicePointer on_device = 0;  ///< page-locked memory: where devices know it
  std::set<int> open_to{};            ///< devices that may access a segment
};
static_assert(sizeof(Exported) <= sizeof(cuda::IpcHandle));

struct Blocks {
  std::mutex mutex{};
  std::map<cuda::DevicePointer, Block> by_address{};
  std::size_t left = 0;  ///< as fake_memory_left() said
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

/// Whether one segment goes on where the other one ends.
bool is_continued(const std::pair<const cuda::DevicePointer, Block>& one,
                  const std::pair<const cuda::DevicePointer, Block>& other) {
  return one.second.segment && other.second.segment &&
         one.first + one.second.bytes == other.first &&
         one.second.reachable + one.second.bytes == other.second.reachable;
}

void* map(int file, std::size_t bytes, int protection, int flags) {
  void* const address = ::mmap(nullptr, bytes, protection, flags, file, 0);
  if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return address;
}

/// Whole pages, and one more.
std::size_t with_guard(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  return (bytes + page - 1) / page * page + page;
}

/// `block`: complete but for `reachable`.
cuda::DevicePointer add(int file, Block block) {
  void* const device =
      map(-1, with_guard(block.bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  block.reachable =
      static_cast<std::byte*>(map(file, block.bytes, PROT_READ | PROT_WRITE, MAP_SHARED));
  const cuda::DevicePointer pointer = cuda::address_of(device);
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address[pointer] = block;
  return pointer;
}

int allocate(cuda::DevicePointer* pointer, std::size_t bytes, bool shared, bool managed = false) {
  int number = 0;
  if (const int status = cuCtxGetDevice(&number)) return status;
  if (bytes == 0) return invalid_value;
  const int file = ::memfd_create("fake device memory", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return out_of_memory;
  *pointer = add(file, {.bytes = bytes,
                        .reachable = nullptr,
                        .device = true,
                        .number = number,
                        .file = file,
                        .shared = shared,
                        .managed = managed});
  return cuda::success;
}

/// As in the real driver, a context that opens memory again gets the same address, counted.
bool open_again(cuda::DevicePointer* pointer, const Exported& source, int number) {
  const std::scoped_lock lock(blocks().mutex);
  for (auto& [address, block] : blocks().by_address) {
    if (!block.imported || block.source != source || block.number != number) continue;
    ++block.opens;
    *pointer = address;
    return true;
  }
  return false;
}

/// Removes a block of own memory, or, if `imported`, of another process's. `mapping`: the memory, which
/// goes with it; null where it is open still.
int remove(cuda::DevicePointer pointer, bool imported, std::shared_ptr<void>& mapping) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = blocks().by_address.find(pointer);
  if (found == blocks().by_address.end() || !found->second.device) return invalid_value;
  if (found->second.imported != imported || found->second.segment) return invalid_value;
  if (imported && --found->second.opens > 0) return cuda::success;
  const Block block = found->second;
  blocks().by_address.erase(found);
  mapping.reset(block.reachable, [block](void* reachable_at) {
    ::munmap(reachable_at, block.bytes);
    if (!block.imported) ::close(block.file);
  });
  return cuda::success;
}

/// What gives memory back waits for all streams of the device, where fake_free_waits() says so.
/// Meanwhile no other thread can put anything into a stream.
void wait_to_free(int device) {
  {
    const std::scoped_lock lock(state().mutex);
    if (!state().free_waits) return;
    ++state().waiting_frees;
  }
  wait_for_streams(device);
  const std::scoped_lock lock(state().mutex);
  --state().waiting_frees;
  state().freed.notify_all();
}

}  // namespace

std::byte* reachable(cuda::DevicePointer address, std::size_t bytes) {
  const std::scoped_lock lock(blocks().mutex);
  auto found = find(address);
  if (found == blocks().by_address.end()) return nullptr;
  const std::size_t offset = address - found->first;
  std::byte* const first = found->second.reachable + offset;
  for (std::size_t there = found->second.bytes - offset;; there += found->second.bytes) {
    if (found->second.segment && found->second.open_to.empty()) return nullptr;
    if (bytes <= there) return first;
    const auto before = found++;
    if (found == blocks().by_address.end() || !is_continued(*before, *found)) return nullptr;
  }
}

std::optional<Owned> owned_at(cuda::DevicePointer address) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(address);
  if (found == blocks().by_address.end()) return std::nullopt;
  const Block& block = found->second;
  return Owned{.begin = found->first,
               .bytes = block.bytes,
               .device = block.device ? block.number : -1,
               .shared = block.device && block.shared,
               .managed = block.device && block.managed,
               .on_device = block.mapped || block.device ? found->first : block.on_device};
}

std::byte* reachable_by_device(cuda::DevicePointer address, std::size_t bytes) {
  const std::optional<Owned> owned = owned_at(address);
  return owned && owned->on_device == owned->begin ? reachable(address, bytes) : nullptr;
}

void add_segment(cuda::DevicePointer begin, std::size_t bytes, std::byte* reachable_at,
                 int device) {
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address[begin] = {.bytes = bytes,
                                .reachable = reachable_at,
                                .device = true,
                                .number = device,
                                .shared = false,
                                .segment = true};
}

void remove_segment(cuda::DevicePointer begin) {
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address.erase(begin);
}

void open_segment(cuda::DevicePointer begin, int device) {
  const std::scoped_lock lock(blocks().mutex);
  blocks().by_address.at(begin).open_to.insert(device);
}

std::optional<bool> segment_is_open(cuda::DevicePointer address, int device) {
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(address);
  if (found == blocks().by_address.end() || !found->second.segment) return std::nullopt;
  return found->second.open_to.contains(device);
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::DevicePointer;
using rondo::cuda::success;

extern "C" {

void fake_memory_left(std::size_t bytes) {
  const std::scoped_lock lock(blocks().mutex);
  blocks().left = bytes;
}

int cuMemGetInfo_v2(std::size_t* left, std::size_t* all) {
  if (const int status = enter("cuMemGetInfo")) return status;
  constexpr std::size_t much = std::size_t{1} << 40;
  const std::scoped_lock lock(blocks().mutex);
  *left = blocks().left == 0 ? much : blocks().left;
  *all = much;
  return success;
}

int cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  if (const int status = enter_unsafe("cuMemAlloc")) return status;
  return allocate(pointer, bytes, true);
}

int cuMemAllocManaged(DevicePointer* pointer, std::size_t bytes, unsigned flags) {
  if (const int status = enter_unsafe("cuMemAllocManaged")) return status;
  return flags == 1 ? allocate(pointer, bytes, false, true) : invalid_value;
}

int fake_allocate_unshared(DevicePointer* pointer, std::size_t bytes) {
  return allocate(pointer, bytes, false);
}

int cuMemFree_v2(DevicePointer pointer) {
  if (const int status = enter_unsafe("cuMemFree")) return status;
  const int device = device_number(pointer);
  if (device >= 0) wait_to_free(device);
  std::shared_ptr<void> mapping;
  const int status = remove(pointer, false, mapping);
  // The real driver frees it only when streams have made the copies that are in them.
  if (mapping != nullptr) keep_for_streams(device, mapping);
  return status;
}

int cuMemFreeAsync(DevicePointer pointer, rondo::cuda::Stream stream) {
  std::unique_lock<std::mutex> entry;
  if (const int status = enter_stream("cuMemFreeAsync", stream, entry)) return status;
  if (resolve(stream) == nullptr) return invalid_value;  // no context is current
  const int device = device_number(pointer);
  std::shared_ptr<void> mapping;
  const int status = remove(pointer, false, mapping);
  // The real driver keeps it for this one stream. Tests free buffers of calls that have failed.
  if (mapping != nullptr) keep_for_streams(device, mapping);
  return status;
}

void fake_free_waits(bool waits) {
  const std::scoped_lock lock(state().mutex);
  state().free_waits = waits;
}

/// The range of the one segment that holds the address, though others may follow it. Managed memory
/// has no range.
int cuMemGetAddressRange_v2(DevicePointer* begin, std::size_t* bytes, DevicePointer pointer) {
  if (const int status = enter("cuMemGetAddressRange")) return status;
  const std::scoped_lock lock(blocks().mutex);
  const auto found = find(pointer);
  constexpr int not_found = 500;
  if (found == blocks().by_address.end() || !found->second.device || found->second.managed)
    return not_found;
  *begin = found->first;
  *bytes = found->second.bytes;
  return success;
}

int cuIpcGetMemHandle(rondo::cuda::IpcHandle* handle, DevicePointer pointer) {
  if (const int status = enter("cuIpcGetMemHandle")) return status;
  const std::scoped_lock lock(blocks().mutex);
  const auto found = blocks().by_address.find(pointer);
  if (found == blocks().by_address.end() || found->second.file < 0) return invalid_value;
  if (!found->second.shared || std::getenv("FAKE_WITHOUT_IPC") != nullptr) return invalid_value;
  const Exported exported{::getpid(), found->second.file, found->second.bytes};
  *handle = {};
  std::memcpy(handle->reserved, &exported, sizeof exported);
  return success;
}

int cuIpcOpenMemHandle_v2(DevicePointer* pointer, rondo::cuda::IpcHandle handle, unsigned flags) {
  if (const int status = enter_unsafe("cuIpcOpenMemHandle")) return status;
  Exported exported{};
  std::memcpy(&exported, handle.reserved, sizeof exported);
  // Like the real one, it does not map what its own process exported.
  if (flags != rondo::cuda::ipc_lazy_peer_access || exported.pid == ::getpid())
    return invalid_value;
  int number = 0;  // with the flag the current device reaches it as its own
  cuCtxGetDevice(&number);
  if (open_again(pointer, exported, number)) return success;
  const std::string path =
      "/proc/" + std::to_string(exported.pid) + "/fd/" + std::to_string(exported.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return invalid_value;
  *pointer = add(file, {.bytes = exported.bytes,
                        .reachable = nullptr,
                        .device = true,
                        .number = number,
                        .imported = true,
                        .source = exported});
  ::close(file);
  return success;
}

int cuIpcCloseMemHandle(DevicePointer pointer) {
  if (const int status = enter_unsafe("cuIpcCloseMemHandle")) return status;
  if (const int device = device_number(pointer); device >= 0) wait_to_free(device);
  std::shared_ptr<void> mapping;
  return remove(pointer, true, mapping);
}

int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned /*flags*/) {
  if (const int status = enter_unsafe("cuMemHostRegister")) return status;
  constexpr int already_registered = 712;
  const std::scoped_lock lock(blocks().mutex);
  auto& all = blocks().by_address;
  const DevicePointer address = rondo::cuda::address_of(memory);
  if (all.contains(address)) return already_registered;
  constexpr DevicePointer page = 4096;
  void* const mapped =
      map(-1, with_guard(bytes + page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  Block block{bytes, static_cast<std::byte*>(memory), false};
  block.on_device = rondo::cuda::address_of(mapped) + address % page;
  all[address] = block;
  block.mapped = true;
  all[block.on_device] = block;
  return success;
}

int cuMemHostUnregister(void* memory) {
  if (const int status = enter_unsafe("cuMemHostUnregister")) return status;
  int number = 0;  // there must be a current context
  const int current = cuCtxGetDevice(&number);
  // Whoever frees memory of a broken context has none current, and tests check that it is freed.
  if (current != 0 && !state().has_broken_context) return current;
  if (current == 0) wait_to_free(number);
  const std::scoped_lock lock(blocks().mutex);
  constexpr int not_registered = 713;
  auto& all = blocks().by_address;
  const auto found = all.find(rondo::cuda::address_of(memory));
  if (found == all.end() || found->second.device || found->second.mapped) return not_registered;
  all.erase(found->second.on_device);
  all.erase(found);
  return success;
}

int cuMemHostGetDevicePointer_v2(DevicePointer* pointer, void* memory, unsigned /*flags*/) {
  if (const int status = enter("cuMemHostGetDevicePointer")) return status;
  const DevicePointer address = rondo::cuda::address_of(memory);
  const std::optional<Owned> owned = owned_at(address);
  if (!owned || owned->device >= 0 || owned->on_device == owned->begin) return invalid_value;
  *pointer = owned->on_device + (address - owned->begin);
  return success;
}

void fake_lose_memory(int device) {
  const std::scoped_lock lock(blocks().mutex);
  std::erase_if(blocks().by_address, [=](auto& each) { return each.second.number == device; });
}

int fake_pinned_blocks() {
  const std::scoped_lock lock(blocks().mutex);
  return static_cast<int>(std::ranges::count_if(blocks().by_address, [](const auto& each) {
    return !each.second.device && !each.second.mapped;
  }));
}

int fake_blocks() {
  const int holds = segment_holds();
  const std::scoped_lock lock(blocks().mutex);
  return holds + static_cast<int>(std::ranges::count_if(
                     blocks().by_address, [](const auto& each) { return each.second.device; }));
}
}
