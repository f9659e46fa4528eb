#include "core/stream/check_memory.h"

#include <cstdint>
#include <sstream>
#include <string>

#include "core/cuda/handles.h"
#include "core/stream/buffers.h"
#include "rondo/error.h"

namespace rondo::stream {
namespace {

using cuda::MemoryKind;

[[noreturn]] void reject(const std::string& what, const std::string& remedy, const Call& call,
                         const Home& home) {
  throw Error(ErrorCode::invalid_argument, what,
              {.rank = home.rank, .call = to_string(call), .remedy = remedy});
}

std::string words_of(const void* address) {
  std::ostringstream words;
  words << address;
  return words.str();
}

bool are_on_one_page(const void* first, const void* last) {
  constexpr std::uintptr_t page = 4096;
  return reinterpret_cast<std::uintptr_t>(first) / page ==
         reinterpret_cast<std::uintptr_t>(last) / page;
}

/// Checks the end of what begins in `there`. The driver may know only a part of the host's memory.
void check_end(const UserMemory& memory, const cuda::MemoryInfo& there, const Call& call,
               const Home& home) {
  const MemoryKind kind = there.kind;
  const void* const last = static_cast<const std::byte*>(memory.begin) + memory.bytes - 1;
  if (kind == MemoryKind::host && are_on_one_page(memory.begin, last)) return;
  const std::uint64_t offset = cuda::address_of(last) - there.begin;
  if (kind == MemoryKind::device && offset < there.bytes) return;
  if (cuda::memory_at(last).kind == kind) return;
  reject("the " + std::string(memory.name) + " begins in memory of " +
             (kind == MemoryKind::host ? "the host" : "a GPU") + " at " + words_of(memory.begin) +
             ", but the last of its " + std::to_string(memory.bytes) + " bytes, at " +
             words_of(last) + ", is not there",
         "check the count and the data type, or take more memory", call, home);
}

/// By peer access, or because the memory was mapped so. True also where the driver does not say.
bool is_open_to(cuda::Context context, cuda::DevicePointer address) {
  const cuda::CurrentContext current(context);
  return cuda::pointer_attribute<unsigned long long>(cuda::attribute_access_flags, address)
             .value_or(cuda::read_and_write) == cuda::read_and_write;
}

void check_device(const UserMemory& memory, int device, const Call& call, const Home& home) {
  if (home.context == nullptr) return;
  const cuda::DevicePointer address = cuda::address_of(memory.begin);
  if (device == home.device || device < 0) return;
  if (cuda::is_managed(address) || is_open_to(home.context, address)) return;
  reject("the " + std::string(memory.name) + " at " + words_of(memory.begin) +
             " is memory of GPU " + std::to_string(device) + ", which GPU " +
             std::to_string(home.device) + " of this communicator does not reach",
         "pass memory of the communicator's GPU, or enable peer access from it", call, home);
}

}  // namespace

void check_context(cuda::Stream stream, const Call& call, cuda::Context context, int rank) {
  if (cuda::context_of(stream) == context) return;
  throw Error(ErrorCode::invalid_usage,
              "this stream is of another CUDA context than the communicator",
              {.rank = rank,
               .call = to_string(call),
               .remedy = "use a communicator for one device, and make that device current"});
}

Location check_memory(const UserMemory& memory, const Call& call, const Home& home) {
  if (memory.begin == nullptr) return {};
  const cuda::MemoryInfo there = cuda::memory_at(memory.begin);
  const Location location = location_of(there);
  if (memory.bytes == 0) return location;
  if (there.kind == MemoryKind::none) {
    reject("the " + std::string(memory.name) + " at " + words_of(memory.begin) +
               " is neither host memory of this process nor memory of a GPU",
           "pass memory that was taken and not freed", call, home);
  }
  check_end(memory, there, call, home);
  if (location.on_device) check_device(memory, there.device, call, home);
  return location;
}

Locations check_memory(const Request& request, const Home& home) {
  const std::size_t read = bytes_of(request, Buffer::input, home.rank, home.ranks);
  const std::size_t written = bytes_of(request, Buffer::output, home.rank, home.ranks);
  const auto check = [&](const char* name, const void* begin, std::size_t bytes) {
    return check_memory({is_message(request) ? "buffer" : name, begin, bytes}, request.call, home);
  };
  const Location location = check("input", request.input, read);
  if (request.output == request.input && written <= read) return {location, location};
  return {location, check("output", request.output, written)};
}

}  // namespace rondo::stream
