// rondo::allocate() and the registry of this process's windows.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "core/memory/shared_memory.h"
#include "core/memory/windows.h"
#include "rondo/error.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo::testing {
namespace {

std::span<std::byte> bytes_of(const Memory& memory) {
  return {static_cast<std::byte*>(memory.data()), memory.size()};
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t window_of(const void* start, std::size_t bytes) {
  const auto window = Windows::of_process()->find(start, bytes);
  return window ? window->number : 0;
}

std::optional<Error> failure(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("allocated memory is page-aligned, zeroed and writable", "[memory]") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{5} << 20}) {
    const Memory memory = allocate(bytes);
    CAPTURE(bytes);
    REQUIRE(memory);
    CHECK(memory.size() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096 == 0);
    CHECK(is_zero(bytes_of(memory)));
    std::ranges::fill(bytes_of(memory), std::byte{7});
    CHECK(bytes_of(memory).back() == std::byte{7});
  }
}

TEST_CASE("an allocation of no bytes is an empty handle", "[memory]") {
  const Memory memory = allocate(0);
  CHECK(!memory);
  CHECK(memory.data() == nullptr);
  CHECK(memory.size() == 0);
}

TEST_CASE("blocks are apart from each other and freed with the last handle", "[memory]") {
  const auto windows = Windows::of_process();
  const std::uint64_t freed = windows->freed();
  std::uint64_t number = 0;
  {
    Memory first = allocate(10000);
    const Memory second = allocate(10000);
    number = window_of(first.data(), 10000);
    CHECK(number != 0);
    CHECK(window_of(second.data(), 10000) != number);
    const Memory copy = first;
    first = Memory();
    CHECK(windows->freed() == freed);
    CHECK(window_of(copy.data(), 10000) == number);
  }
  CHECK(windows->freed() == freed + 2);
  CHECK(!windows->open(number));
  const Memory third = allocate(10000);
  CHECK(window_of(third.data(), 10000) > number);  // numbers are not used again
}

TEST_CASE("a window is found where all of the range lies in it", "[memory]") {
  const Memory memory = allocate(10000);
  const auto* const start = static_cast<const std::byte*>(memory.data());
  const std::uint64_t number = window_of(start, 1);
  CHECK(number != 0);
  CHECK(window_of(start, 10000) == number);
  CHECK(window_of(start + 9999, 1) == number);
  CHECK(window_of(start + 5000, 5001) == 0);
  CHECK(window_of(start + 1, 10000) == 0);
  CHECK(window_of(start + 5, ~std::size_t{0}) == 0);
  CHECK(window_of(start - 1, 2) == 0);
  const int local = 0;
  CHECK(window_of(&local, sizeof(local)) == 0);
}

TEST_CASE("a window's descriptor shows the same pages, and they cannot be taken away", "[memory]") {
  const Memory memory = allocate(8192);
  bytes_of(memory)[8191] = std::byte{42};
  const auto handle = Windows::of_process()->open(window_of(memory.data(), 1));
  REQUIRE(handle);
  CHECK(handle->window.base == memory.data());
  CHECK(handle->window.bytes == 8192);
  REQUIRE(handle->descriptor);
  CHECK(::ftruncate(handle->descriptor.get(), 0) != 0);
  CHECK(::ftruncate(handle->descriptor.get(), 1 << 20) != 0);
  CHECK((::fcntl(handle->descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
  struct stat status {};
  REQUIRE(::fstat(handle->descriptor.get(), &status) == 0);
  CHECK(status.st_blocks * 512 >= 8192);  // pages are there, not promised
  const Mapping mapping = map_shared_memory(handle->descriptor.get(), 8192);
  REQUIRE(mapping);
  CHECK(mapping.data() != memory.data());
  CHECK(mapping.data()[8191] == std::byte{42});
  mapping.data()[0] = std::byte{43};
  CHECK(bytes_of(memory)[0] == std::byte{43});
  CHECK(!map_shared_memory(handle->descriptor.get(), 8193));
  // Whoever passed it could cut it under its reader.
  const UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), 8192) == 0);
  CHECK(!map_shared_memory(unsealed.get(), 8192));
  CHECK(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  CHECK(map_shared_memory(unsealed.get(), 8192));
}

TEST_CASE("freed pages are given back though a peer still maps them", "[memory]") {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  Memory memory = allocate(bytes);
  std::ranges::fill(bytes_of(memory), std::byte{7});
  const auto handle = Windows::of_process()->open(window_of(memory.data(), bytes));
  REQUIRE(handle);
  const Mapping peer = map_shared_memory(handle->descriptor.get(), bytes);
  REQUIRE(peer);
  CHECK(peer.data()[bytes - 1] == std::byte{7});
  memory = Memory();
  struct stat status {};
  REQUIRE(::fstat(handle->descriptor.get(), &status) == 0);
  CHECK(status.st_blocks == 0);
  CHECK(static_cast<std::size_t>(status.st_size) == bytes);  // so that touching it is no SIGBUS
  CHECK(is_zero({peer.data(), bytes}));
}

TEST_CASE("a forked child that frees its handle leaves its parent's memory alone", "[memory]") {
  Memory memory = allocate(4096);
  std::ranges::fill(bytes_of(memory), std::byte{7});
  const pid_t child = ::fork();
  if (child == 0) {
    memory = Memory();
    std::_Exit(0);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(bytes_of(memory).back() == std::byte{7});
}

TEST_CASE("memory that cannot be had is an error that says how much", "[memory]") {
  const std::uint64_t freed = Windows::of_process()->freed();
  const std::size_t absurd = std::size_t{1} << 60;
  const auto error = failure([&] { allocate(absurd); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::out_of_memory);
  // Where a control group has the least, it is named after that.
  CHECK(error->message().starts_with(
      "no memory for a block of shared memory of 1152921504606846976 bytes"));
  CHECK(!error->remedy().empty());
  CHECK(Windows::of_process()->freed() == freed);
}

// UBSan, which comes with ASan here, opens a pipe to look at an object's type.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a lack of file descriptors for a block is said so", "[memory]") {
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  std::optional<Error> error;
  {
    const rlimit none{3, old.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    error = failure([&] { allocate(4096); });
    ::setrlimit(RLIMIT_NOFILE, &old);
  }
  REQUIRE(error);
  // What memory is left is read from a file, where one can be opened.
  CHECK(error->code() == ErrorCode::system);
  CHECK(error->remedy() == "raise the limit of open files (ulimit -n)");
}
#endif

TEST_CASE("threads allocate, look up and free at once", "[memory]") {
  constexpr int rounds = 200;
  CHECK_NOTHROW(test::on_all_ranks(4, [](int thread) {
    const auto windows = Windows::of_process();
    std::uint64_t last = 0;
    for (int round = 0; round < rounds; ++round) {
      const Memory memory = allocate(4096 * (static_cast<std::size_t>(thread) + 1));
      const auto window = windows->find(memory.data(), memory.size());
      const auto handle = windows->open(window ? window->number : 0);
      const bool right = window && window->base == memory.data() && window->number > last &&
                         handle && handle->descriptor && is_zero(bytes_of(memory));
      test::expect_that(right, "round " + std::to_string(round));
      last = window->number;
      std::ranges::fill(bytes_of(memory), std::byte{1});
    }
  }));
}

}  // namespace rondo::testing
