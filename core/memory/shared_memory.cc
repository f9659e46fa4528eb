#include "core/memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "core/base/sealed.h"
#include "core/memory/available.h"

namespace rondo {
namespace {

Error no_memory(std::size_t bytes, const std::string& what, ErrorDetails details) {
  if (details.remedy.empty()) details.remedy = "ask for less, or free some memory";
  return Error(ErrorCode::out_of_memory,
               "no memory for " + what + " of " + std::to_string(bytes) + " bytes",
               std::move(details));
}

/// The bytes with what the kernel adds for its own books: for every 4096 bytes 8 of page tables and
/// 9 of the file's index, and a little for what it does not report.
std::size_t taken_for(std::size_t bytes) { return bytes + bytes / 200 + (std::size_t{256} << 10); }

/// Taking more than there is does not fail: it lets the kernel kill processes.
void check_available(std::size_t bytes, const std::string& what, ErrorDetails details) {
  const Available available = available_memory();
  if (taken_for(bytes) <= available.bytes) return;
  if (available.group.empty()) throw no_memory(bytes, what, std::move(details));
  if (details.remedy.empty())
    details.remedy = "ask for less, or raise the memory limit of the container or job";
  throw Error(ErrorCode::out_of_memory,
              "no memory for " + what + " of " + std::to_string(bytes) +
                  " bytes: the limit of control group " + available.group + " leaves " +
                  std::to_string(available.bytes),
              std::move(details));
}

std::byte* map(int descriptor, std::size_t bytes, int flags) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, descriptor, 0);
  return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
}

}  // namespace

Mapping::~Mapping() {
  if (start_ != nullptr) ::munmap(start_, bytes_);
}

SharedMemory make_shared_memory(std::size_t bytes, const std::string& what,
                                const ErrorDetails& details) {
  check_available(bytes, what, details);
  UniqueFd memory(::memfd_create("rondo-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) {
    throw Error(ErrorCode::system, "out of file descriptors, making " + what,
                {.rank = details.rank,
                 .peer = details.peer,
                 .remedy = "raise the limit of open files (ulimit -n)"});
  }
  const auto length = static_cast<off_t>(bytes);
  if (::ftruncate(memory.get(), length) != 0) throw no_memory(bytes, what, details);
  Mapping mapping(map(memory.get(), bytes, 0), bytes);
  if (!mapping) throw no_memory(bytes, what, details);
  // Both are hints. The kernel gives huge pages where it is set to give them on request, for pages
  // that are touched through such a mapping, not for fallocate().
  ::madvise(mapping.data(), bytes, MADV_HUGEPAGE);
  ::madvise(mapping.data(), bytes, MADV_POPULATE_WRITE);
  // This is the promise: writing to a page that cannot be had later would be SIGBUS.
  if (::fallocate(memory.get(), 0, 0, length) != 0) throw no_memory(bytes, what, details);
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return {std::move(memory), std::move(mapping)};
}

void give_back(const SharedMemory& memory) noexcept {
  // Where the kernel cannot, the pages go with their last mapping.
  ::fallocate(memory.descriptor.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(memory.mapping.size()));
}

Mapping map_shared_memory(int descriptor, std::size_t bytes) {
  if (bytes == 0 || !is_sealed(descriptor, bytes)) return {};
  std::byte* const start = map(descriptor, bytes, MAP_POPULATE);
  return start == nullptr ? Mapping() : Mapping(start, bytes);
}

}  // namespace rondo
