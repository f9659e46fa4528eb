// Memory of cuMemCreate: files without a name, and addresses that are reserved first. Processes
// pass the files' descriptors on. As for all device memory, each address exists twice:
//
// - as programs hold it, where no code can touch it
// - with the files mapped, for the fake's own copies
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/base/unique_fd.h"
#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

constexpr std::size_t granularity = std::size_t{2} << 20;
constexpr int not_supported = 801;
constexpr const char* file_name = "/memfd:segment of device %d";  // what the kernel shows

/// The memory itself.
struct Physical {
  UniqueFd file{};
  std::size_t bytes = 0;
  int device = 0;
  bool exportable = false;
};
using SharedPhysical = std::shared_ptr<Physical>;

struct Place {
  std::size_t bytes = 0;
  std::byte* reachable = nullptr;
};

struct Segments {
  std::mutex mutex{};
  cuda::Allocation newest = 0;
  std::map<cuda::Allocation, SharedPhysical> claims{};
  std::map<cuda::DevicePointer, Place> places{};           ///< reserved
  std::map<cuda::DevicePointer, SharedPhysical> mapped{};  ///< within them
};

Segments& segments() {
  static Segments& segments = *std::make_unique<Segments>().release();
  return segments;
}

/// The entry that holds all of these bytes; end: none. With the mutex held, as for all below.
template <class Map, class Bytes>
auto find_in(Map& map, cuda::DevicePointer begin, std::size_t bytes, const Bytes& bytes_of) {
  auto found = map.upper_bound(begin);
  if (found == map.begin()) return map.end();
  --found;
  return begin - found->first + bytes <= bytes_of(found->second) ? found : map.end();
}

auto find_place(cuda::DevicePointer begin, std::size_t bytes) {
  return find_in(segments().places, begin, bytes, [](const Place& place) { return place.bytes; });
}
auto find_mapped(cuda::DevicePointer address) {
  return find_in(segments().mapped, address, 1,
                 [](const SharedPhysical& physical) { return physical->bytes; });
}

/// Whether whole segments, and nothing else, are mapped there.
bool holds_whole(cuda::DevicePointer begin, std::size_t bytes) {
  std::size_t whole = 0;
  auto each = segments().mapped.find(begin);
  for (; each != segments().mapped.end() && each->first == begin + whole && whole < bytes; ++each)
    whole += each->second->bytes;
  return whole == bytes;
}

int claim(cuda::Allocation* allocation, SharedPhysical physical) {
  *allocation = ++segments().newest;
  segments().claims[*allocation] = std::move(physical);
  return cuda::success;
}

SharedPhysical claimed(cuda::Allocation allocation) {
  const auto found = segments().claims.find(allocation);
  return found == segments().claims.end() ? nullptr : found->second;
}

void* map_anew(std::size_t bytes, std::byte* at) {
  const int fixed = at != nullptr ? MAP_FIXED : 0;
  return ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

/// The device of a segment, by its descriptor, whatever process made it; nothing: no segment's.
std::optional<int> device_of(const std::string& descriptor) {
  std::array<char, PATH_MAX> shown{};
  int device = 0;
  const std::string link = "/proc/self/fd/" + descriptor;
  if (::readlink(link.c_str(), shown.data(), shown.size() - 1) < 0) return std::nullopt;
  if (std::sscanf(shown.data(), file_name, &device) != 1) return std::nullopt;
  return device;
}

/// The memory of a descriptor that cuMemExportToShareableHandle() made.
SharedPhysical physical_of(int file) {
  struct stat status {};
  const std::optional<int> device = device_of(std::to_string(file));
  if (!device || ::fstat(file, &status) != 0) return nullptr;
  auto physical = std::make_shared<Physical>();
  physical->device = *device;
  physical->bytes = static_cast<std::size_t>(status.st_size);
  physical->file = UniqueFd(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  physical->exportable = true;
  return physical->file ? physical : nullptr;
}

/// How many descriptors the driver itself has open. With the mutex held.
std::size_t own_descriptors() {
  std::set<const Physical*> all;
  for (const auto& [claim, physical] : segments().claims) all.insert(physical.get());
  for (const auto& [address, physical] : segments().mapped) all.insert(physical.get());
  return all.size();
}

bool has_segments() { return std::getenv("FAKE_WITHOUT_SEGMENTS") == nullptr; }
bool has_descriptors() { return std::getenv("FAKE_WITHOUT_DESCRIPTORS") == nullptr; }

}  // namespace

int segment_holds() {
  const std::scoped_lock lock(segments().mutex);
  return static_cast<int>(segments().claims.size() + segments().places.size());
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::UniqueFd;
using rondo::cuda::Allocation;
using rondo::cuda::AllocationProperties;
using rondo::cuda::DevicePointer;
using rondo::cuda::success;

extern "C" {

int cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties* /*properties*/,
                                  int /*option*/) {
  *bytes = granularity;
  return success;
}

int cuMemCreate(Allocation* allocation, std::size_t bytes, const AllocationProperties* properties,
                unsigned long long flags) {
  if (const int status = enter_unsafe("cuMemCreate")) return status;
  if (!has_segments()) return not_supported;
  if (bytes == 0 || bytes % granularity != 0 || flags != 0) return invalid_value;
  if (properties->type != 1 || properties->location.type != 1) return invalid_value;
  if (properties->handle_types != 0 && !has_descriptors()) return not_supported;
  auto physical = std::make_shared<Physical>();
  const std::string name = "segment of device " + std::to_string(properties->location.device);
  physical->file = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!physical->file || ::ftruncate(physical->file.get(), static_cast<off_t>(bytes)) != 0)
    return 2;
  physical->bytes = bytes;
  physical->device = properties->location.device;
  physical->exportable = (properties->handle_types & rondo::cuda::file_descriptor) != 0;
  const std::scoped_lock lock(segments().mutex);
  return claim(allocation, std::move(physical));
}

int cuMemRetainAllocationHandle(Allocation* allocation, void* address) {
  if (const int status = enter("cuMemRetainAllocationHandle")) return status;
  const std::scoped_lock lock(segments().mutex);
  const auto found = find_mapped(rondo::cuda::address_of(address));
  return found == segments().mapped.end() ? invalid_value : claim(allocation, found->second);
}

int cuMemRelease(Allocation allocation) {
  if (const int status = enter("cuMemRelease")) return status;
  const std::scoped_lock lock(segments().mutex);
  return segments().claims.erase(allocation) == 1 ? success : invalid_value;
}

int cuMemExportToShareableHandle(void* shareable, Allocation allocation, int type,
                                 unsigned long long flags) {
  if (const int status = enter("cuMemExportToShareableHandle")) return status;
  const std::scoped_lock lock(segments().mutex);
  const SharedPhysical physical = claimed(allocation);
  if (physical == nullptr || type != rondo::cuda::file_descriptor || flags != 0)
    return invalid_value;
  if (!has_descriptors()) return not_supported;
  if (!physical->exportable) return invalid_value;
  const int file = ::fcntl(physical->file.get(), F_DUPFD_CLOEXEC, 0);
  *static_cast<int*>(shareable) = file;
  return file >= 0 ? success : 304;  // CUDA_ERROR_OPERATING_SYSTEM
}

int cuMemImportFromShareableHandle(Allocation* allocation, void* shareable, int type) {
  if (const int status = enter("cuMemImportFromShareableHandle")) return status;
  SharedPhysical physical =
      physical_of(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
  if (physical == nullptr || type != rondo::cuda::file_descriptor) return invalid_value;
  const std::scoped_lock lock(segments().mutex);
  return claim(allocation, std::move(physical));
}

int cuMemAddressReserve(DevicePointer* begin, std::size_t bytes, std::size_t alignment,
                        DevicePointer wanted, unsigned long long flags) {
  if (const int status = enter_unsafe("cuMemAddressReserve")) return status;
  if (bytes == 0 || bytes % granularity != 0) return invalid_value;
  if (alignment != 0 || wanted != 0 || flags != 0) return invalid_value;
  void* const untouchable = map_anew(bytes, nullptr);
  void* const reachable_at = map_anew(bytes, nullptr);
  if (untouchable == MAP_FAILED || reachable_at == MAP_FAILED) return 2;
  *begin = rondo::cuda::address_of(untouchable);
  const std::scoped_lock lock(segments().mutex);
  segments().places[*begin] = {bytes, static_cast<std::byte*>(reachable_at)};
  return success;
}

int cuMemAddressFree(DevicePointer begin, std::size_t bytes) {
  if (const int status = enter_unsafe("cuMemAddressFree")) return status;
  const std::scoped_lock lock(segments().mutex);
  const auto found = segments().places.find(begin);
  if (found == segments().places.end() || found->second.bytes != bytes) return invalid_value;
  const auto next = segments().mapped.lower_bound(begin);
  if (next != segments().mapped.end() && next->first < begin + bytes) return invalid_value;
  ::munmap(reinterpret_cast<void*>(begin), bytes);
  ::munmap(found->second.reachable, bytes);
  segments().places.erase(found);
  return success;
}

int cuMemMap(DevicePointer begin, std::size_t bytes, std::size_t offset, Allocation allocation,
             unsigned long long flags) {
  if (const int status = enter_unsafe("cuMemMap")) return status;
  const std::scoped_lock lock(segments().mutex);
  const auto place = find_place(begin, bytes);
  const SharedPhysical physical = claimed(allocation);
  if (place == segments().places.end() || physical == nullptr) return invalid_value;
  if (bytes != physical->bytes || offset != 0 || flags != 0) return invalid_value;
  const auto next = segments().mapped.lower_bound(begin);
  if (next != segments().mapped.end() && next->first < begin + bytes) return invalid_value;
  if (find_mapped(begin) != segments().mapped.end()) return invalid_value;
  std::byte* const at = place->second.reachable + (begin - place->first);
  void* const made =
      ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file.get(), 0);
  if (made == MAP_FAILED) return 2;
  segments().mapped[begin] = physical;
  add_segment(begin, bytes, at, physical->device);
  return success;
}

/// What streams still do in the memory crashes, as it may on a device.
int cuMemUnmap(DevicePointer begin, std::size_t bytes) {
  if (const int status = enter_unsafe("cuMemUnmap")) return status;
  const std::scoped_lock lock(segments().mutex);
  if (!holds_whole(begin, bytes)) return invalid_value;
  const auto place = find_place(begin, bytes);
  map_anew(bytes, place->second.reachable + (begin - place->first));
  const auto first = segments().mapped.find(begin);
  auto end = first;
  for (; end != segments().mapped.end() && end->first < begin + bytes; ++end)
    remove_segment(end->first);
  segments().mapped.erase(first, end);
  return success;
}

int cuMemSetAccess(DevicePointer begin, std::size_t bytes, const rondo::cuda::MemoryAccess* access,
                   std::size_t count) {
  if (const int status = enter("cuMemSetAccess")) return status;
  const std::scoped_lock lock(segments().mutex);
  if (!holds_whole(begin, bytes)) return invalid_value;
  for (std::size_t i = 0; i < count; ++i) {
    const int device = access[i].location.device;
    for (auto each = segments().mapped.find(begin);
         each != segments().mapped.end() && each->first < begin + bytes; ++each) {
      const int owner = each->second->device;
      if (owner != device && link_of(device, owner) == FakeLink::none)
        return peer_access_unsupported;
      open_segment(each->first, device);
    }
  }
  return success;
}

int cuMemGetAccess(unsigned long long* flags, const rondo::cuda::MemoryLocation* location,
                   DevicePointer pointer) {
  if (const int status = enter("cuMemGetAccess")) return status;
  const std::optional<bool> open = segment_is_open(pointer, location->device);
  if (!open || location->type != 1) return invalid_value;
  *flags = *open ? rondo::cuda::read_and_write : 0;
  return success;
}

int fake_reservations() {
  const std::scoped_lock lock(segments().mutex);
  return static_cast<int>(segments().places.size());
}

int fake_descriptors() {
  const std::scoped_lock lock(segments().mutex);
  std::size_t open = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    if (device_of(each.path().filename())) ++open;
  return static_cast<int>(open - own_descriptors());
}
}
