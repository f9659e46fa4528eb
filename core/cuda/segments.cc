#include "core/cuda/segments.h"

#include <limits>
#include <numeric>
#include <utility>

#include "core/cuda/contexts.h"
#include "core/cuda/links.h"

namespace rondo::cuda {
namespace {

/// A claim with an owner; mappings have claims of their own.
class Claim {
 public:
  Claim(Claim&&) = delete;
  Claim& operator=(Claim&&) = delete;
  ~Claim() { driver().mem_release(allocation_); }

  static Claim on(DevicePointer address) {
    Allocation allocation = 0;
    // NOLINTNEXTLINE: as the driver takes it.
    check(driver().mem_retain_allocation_handle(&allocation, reinterpret_cast<void*>(address)),
          "cuMemRetainAllocationHandle");
    return Claim(allocation);
  }
  static Claim make(std::size_t bytes, const AllocationProperties& properties) {
    Allocation allocation = 0;
    check(driver().mem_create(&allocation, bytes, &properties, 0), "cuMemCreate");
    return Claim(allocation);
  }
  static Claim import(const UniqueFd& file) {
    Allocation allocation = 0;
    // NOLINTNEXTLINE: as the driver takes it.
    void* const shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(file.get()));
    check(driver().mem_import_from_shareable_handle(&allocation, shareable, file_descriptor),
          "cuMemImportFromShareableHandle");
    return Claim(allocation);
  }
  Allocation get() const { return allocation_; }

 private:
  explicit Claim(Allocation allocation) : allocation_(allocation) {}
  const Allocation allocation_;
};

bool is_segment(DevicePointer address) {
  Allocation claim = 0;
  // NOLINTNEXTLINE: as the driver takes it.
  void* const pointer = reinterpret_cast<void*>(address);
  if (driver().mem_retain_allocation_handle(&claim, pointer) != success) return false;
  driver().mem_release(claim);
  return true;
}

bool has(int attribute, int device) { return device_attribute(attribute, device).value_or(0) != 0; }

/// The properties of shareable memory on the current context's device.
AllocationProperties shareable_properties() {
  AllocationProperties properties{.handle_types = file_descriptor};
  properties.location.device = current_device();
  properties.gpu_direct = has(attribute_gpu_direct_segments, properties.location.device) ? 1 : 0;
  return properties;
}

std::size_t whole_units(std::size_t bytes, const AllocationProperties& properties) {
  std::size_t unit = 0;
  check(driver().mem_get_allocation_granularity(&unit, &properties, least_granularity),
        "cuMemGetAllocationGranularity");
  if (bytes > std::numeric_limits<std::size_t>::max() - unit) check(out_of_memory, "cuMemCreate");
  return (bytes + unit - 1) / unit * unit;
}

/// A peer that the driver refuses only goes without access: nobody was promised it.
void open_to_peers(DevicePointer begin, std::size_t bytes, int owner) {
  const int devices = device_count();
  for (int peer = 0; peer < devices; ++peer) {
    const Reach reach = link_between(peer, owner).reach;
    if (reach != Reach::nvlink && reach != Reach::pcie) continue;
    const MemoryAccess access{.location = {.device = peer}};
    driver().mem_set_access(begin, bytes, &access, 1);
  }
}

}  // namespace

/// The pointer's attributes of these names would be those of the reserved addresses, of which
/// PyTorch maps no more than it uses.
Range range_of(DevicePointer address) {
  Range range;
  check(driver().mem_get_address_range(&range.begin, &range.bytes, address),
        "cuMemGetAddressRange");
  return range;
}

std::vector<Range> segments_of(DevicePointer address, std::size_t bytes) {
  std::vector<Range> found;
  for (DevicePointer at = address; at < address + bytes;
       at = found.back().begin + found.back().bytes) {
    if (!is_segment(at)) return {};
    found.push_back(range_of(at));
  }
  return found;
}

UniqueFd share_segment(const Range& segment) {
  const Claim claim = Claim::on(segment.begin);
  int file = -1;
  check(driver().mem_export_to_shareable_handle(&file, claim.get(), file_descriptor, 0),
        "cuMemExportToShareableHandle",
        "make the memory with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or raise the limit of open "
        "files");
  return UniqueFd(file);
}

void open_segments(DevicePointer begin, std::size_t bytes) {
  const MemoryAccess access{.location = {.device = current_device()}};
  check(driver().mem_set_access(begin, bytes, &access, 1), "cuMemSetAccess");
}

bool are_open_to(const std::vector<Range>& segments, int device) {
  for (const Range& each : segments) {
    const MemoryLocation location{.device = device};
    unsigned long long flags = 0;
    const int status = driver().mem_get_access(&flags, &location, each.begin);
    if (status != success || flags != read_and_write) return false;
  }
  return !segments.empty();
}

std::string why_no_segments(int device) {
  const std::string whose = "device " + std::to_string(device);
  if (!has(attribute_segments, device)) return whose + " does not support cuMemCreate";
  if (!has(attribute_descriptors, device))
    return whose + " cannot share memory of cuMemCreate by file descriptors";
  return {};
}

MappedSegments MappedSegments::make(std::size_t bytes) {
  const AllocationProperties properties = shareable_properties();
  const std::size_t whole = whole_units(bytes, properties);
  const Claim claim = Claim::make(whole, properties);
  MappedSegments made(whole);
  made.map_next(claim.get(), whole);
  open_segments(made.begin_, whole);
  open_to_peers(made.begin_, whole, properties.location.device);
  return made;
}

MappedSegments::MappedSegments(const std::vector<std::size_t>& bytes,
                               const std::function<UniqueFd()>& next)
    : MappedSegments(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0})) {
  for (const std::size_t each : bytes) map_next(Claim::import(next()).get(), each);
  open_segments(begin_, mapped_);
}

MappedSegments::MappedSegments(std::size_t bytes) {
  check(driver().mem_address_reserve(&begin_, bytes, 0, 0, 0), "cuMemAddressReserve");
  reserved_ = bytes;
}

MappedSegments::MappedSegments(MappedSegments&& other) noexcept
    : begin_(other.begin_), reserved_(std::exchange(other.reserved_, 0)), mapped_(other.mapped_) {}

MappedSegments::~MappedSegments() {
  try {
    free();
  } catch (const CudaError&) {
    // Nobody is left to try again.
  }
}

void MappedSegments::free() {
  if (reserved_ == 0) return;
  if (mapped_ > 0) check(driver().mem_unmap(begin_, mapped_), "cuMemUnmap");
  mapped_ = 0;
  check(driver().mem_address_free(begin_, reserved_), "cuMemAddressFree");
  reserved_ = 0;
}

void MappedSegments::map_next(Allocation claim, std::size_t bytes) {
  check(driver().mem_map(begin_ + mapped_, bytes, 0, claim, 0), "cuMemMap");
  mapped_ += bytes;
}

}  // namespace rondo::cuda
