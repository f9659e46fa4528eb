// Host memory that a call cannot read, for tests of the message.
#pragma once

#include <sys/mman.h>

#include "tests/nccl/members.h"

namespace rondo::test {

/// Two pages of host memory: one to be read, then one that nobody may touch.
class GuardedPage {
 public:
  GuardedPage()
      : begin_(::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0)) {
    expect_that(begin_ != MAP_FAILED && ::mprotect(guard(), bytes, PROT_NONE) == 0, "two pages");
  }
  ~GuardedPage() { ::munmap(begin_, 2 * bytes); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  int* data() const { return static_cast<int*>(begin_); }
  int* guard() const { return data() + bytes / sizeof(int); }

  static constexpr std::size_t bytes = 4096;

 private:
  void* begin_;
};

inline constexpr const char* nobodys = "neither host memory of this process nor memory of a GPU";

}  // namespace rondo::test
