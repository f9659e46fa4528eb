// What a program can pass that is wrong, and what calls say of it, on the host and on devices.
#pragma once

#include <sys/mman.h>

#include <array>

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

/// Every call that has a buffer refuses `wrong`, which is nobody's, in one of two ranks, in a group
/// and outside. `good` has as many elements as any of the calls takes.
inline void expect_refusals(int rank, ncclComm_t comm, int* wrong, int* good, std::size_t count,
                            cudaStream_t stream = nullptr) {
  const int other = 1 - rank;
  const auto refused = [](ncclResult_t result, const std::string& name) {
    test::refused(result, "the " + name + " at ");
    test::refused(result, nobodys);
  };
  refused(ncclAllReduce(wrong, good, count, ncclInt, ncclSum, comm, stream), "input");
  refused(ncclAllReduce(good, wrong, count, ncclInt, ncclSum, comm, stream), "output");
  refused(ncclAllReduce(wrong, wrong, count, ncclInt, ncclSum, comm, stream), "input");
  refused(ncclReduceScatter(wrong, good, count, ncclInt, ncclSum, comm, stream), "input");
  refused(ncclAllGather(good, wrong, count, ncclInt, comm, stream), "output");
  refused(ncclAlltoAll(wrong, good, count, ncclInt, comm, stream), "input");
  refused(ncclBroadcast(wrong, wrong, count, ncclInt, rank, comm, stream), "input");
  refused(ncclBroadcast(wrong, wrong, count, ncclInt, other, comm, stream), "output");
  refused(ncclReduce(wrong, wrong, count, ncclInt, ncclSum, other, comm, stream), "input");
  refused(ncclScatter(good, wrong, count, ncclInt, other, comm, stream), "output");
  refused(ncclGather(wrong, good, count, ncclInt, other, comm, stream), "input");
  refused(ncclSend(wrong, count, ncclInt, other, comm, stream), "buffer");
  refused(ncclRecv(wrong, count, ncclInt, other, comm, stream), "buffer");
  const std::array<std::size_t, 2> counts{count, count + 1};
  refused(rondoAllGatherv(good, wrong, counts.data(), ncclInt, comm, stream), "output");
  expect(ncclGroupStart());
  expect(ncclAllReduce(good, good, count, ncclInt, ncclSum, comm, stream));
  refused(ncclSend(wrong, count, ncclInt, other, comm, stream), "buffer");
  refused(ncclGroupEnd(), "buffer");
}

/// Arguments that one of two ranks may not pass, with a buffer of 8 elements.
template <class T>
void expect_arguments_checked(int rank, ncclComm_t comm, T* in, ncclDataType_t right,
                              cudaStream_t stream = nullptr) {
  T* const out = in + 4;
  const auto all_reduce = [&](const void* from, void* to, std::size_t count, int type, int op) {
    return ncclAllReduce(from, to, count, numbered<ncclDataType_t>(type), numbered<ncclRedOp_t>(op),
                         comm, stream);
  };
  refused(all_reduce(nullptr, out, 4, right, ncclSum), "input is null");
  refused(all_reduce(in, nullptr, 4, right, ncclSum), "output is null");
  refused(all_reduce(in, in + 1, 4, right, ncclSum), "overlap in part");
  refused(all_reduce(in, out, 4, ncclNumTypes, ncclSum), "data type 12");
  refused(all_reduce(in, out, 4, -1, ncclSum), "data type -1");
  refused(all_reduce(in, out, 4, right, 99), "operator 99");
  refused(all_reduce(in, out, 4, right, -1), "operator -1");
  refused(all_reduce(in, out, ~std::size_t{0}, right, ncclSum), "address space");
  refused(ncclBroadcast(in, out, 4, right, 2, comm, stream), "root 2");
  refused(ncclReduce(in, out, 4, right, ncclSum, -1, comm, stream), "root -1");
  refused(ncclSend(in, 4, right, 2, comm, stream), "peer 2");
  refused(ncclRecv(nullptr, 4, right, 1 - rank, comm, stream), "buffer is null");
  refused(ncclAlltoAll(in, in, 2, right, comm, stream), "in place");
  expect(ncclGroupStart());
  refused(ncclSend(in, 4, right, -1, comm, stream), "peer -1");
  refused(ncclGroupEnd(), "peer -1");
}

}  // namespace rondo::test
