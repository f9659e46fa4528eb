// The system has no thread left: making a communicator gives an error, and the program goes on. A
// program of its own, because it replaces pthread_create().
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <functional>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace {

/// Starts of threads. All is seq_cst: tests change it while nothing else starts threads.
struct Starts {
  std::atomic<int> seen{0};
  std::atomic<int> failing{-1};  ///< the start of this number; negative: none
};

Starts& starts() {
  static Starts starts;
  return starts;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (starts().seen++ == starts().failing) return EAGAIN;
  return real(thread, attributes, body, argument);
}

namespace rondo::test {
namespace {

using Comms = std::vector<ncclComm_t>;

constexpr ncclConfig_t untouched_config = NCCL_CONFIG_INITIALIZER;

/// While it lives, the start of that number fails.
class Failing {
 public:
  explicit Failing(int number) {
    starts().seen = 0;
    starts().failing = number;
  }
  ~Failing() { starts().failing = -1; }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  bool has_come() const { return starts().seen > starts().failing; }
};

/// Makes device 0 this thread's, and lets the driver start the threads that it keeps.
void warm_up() {
  cuCtxSetCurrent(device_context(0));
  expect_cuda(cuLaunchHostFunc(
      nullptr, [](void*) {}, nullptr));
  expect_cuda(cuStreamSynchronize(nullptr));
}

ncclResult_t init_in_group(Comms& comms, ncclConfig_t config) {
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id)) return result;
  expect(ncclGroupStart());
  for (std::size_t r = 0; r < comms.size(); ++r)
    expect(ncclCommInitRankConfig(&comms[r], static_cast<int>(comms.size()), id,
                                  static_cast<int>(r), &config));
  return ncclGroupEnd();
}

/// A way of making communicators, into handles that are null.
struct Way {
  const char* name;
  std::function<ncclResult_t(Comms&)> make;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"ncclCommInitAll",
       [](Comms& comms) {
         const std::vector<int> device_of(comms.size(), 0);
         return ncclCommInitAll(comms.data(), static_cast<int>(comms.size()), device_of.data());
       }},
      {"a group that waits", [](Comms& comms) { return init_in_group(comms, untouched_config); }},
      {"a group that does not",
       [](Comms& comms) { return init_in_group(comms, without_blocking()); }},
  };
  return all;
}

void expect_works(const Comms& comms) {
  run_members(comms, [&](int rank, ncclComm_t comm) {
    cuCtxSetCurrent(device_context(0));
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(numbers(1000, rank));
    const ncclResult_t result = all_reduce(buffer, 1000, comm, stream);
    expect_that(result == ncclSuccess || result == ncclInProgress, "the call is taken");
    stream.finish();
    expect_that(buffer.get() == sums_of_numbers(1000, 2), "the sum");
  });
}

/// Gives up all communicators that there are, and waits for ever for none.
void give_up(Comms& comms) {
  for (const ncclComm_t comm : comms) {
    if (comm != NCCL_COMM_NULL) expect(ncclCommAbort(comm));
  }
}

TEST_CASE("whichever start of a thread fails, making communicators comes to an end") {
  if (lacks_kernels()) return;  // a call by the host needs threads of its own
  const Setting patience("RONDO_BOOTSTRAP_TIMEOUT", "3");
  warm_up();
  const Way& way = ways()[GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{2})];
  CAPTURE(way.name);
  bool all = false;
  int late = 0;  // times that ranks did not meet though no start had failed
  for (int number = 0; !all; ++number) {
    CAPTURE(number);
    Comms comms(2, NCCL_COMM_NULL);
    ncclResult_t result = ncclSuccess;
    bool failed = false;
    {
      const Failing failing(number);
      result = way.make(comms);
      for (const ncclComm_t comm : comms) {
        if (comm != NCCL_COMM_NULL && settled(comm) != ncclSuccess) failed = true;
      }
      all = !failing.has_come();
    }
    if (result != ncclSuccess && result != ncclInProgress) failed = true;
    UNSCOPED_INFO("start " << number << ": " << result << (failed ? ", failed" : ", fine"));
    if (failed) {
      if (all) {
        REQUIRE(++late < 4);
        all = false;
        --number;  // the machine stood still: once more
      }
      give_up(comms);
    } else {
      expect_works(comms);
    }
  }
}

TEST_CASE("a group in which a rank cannot begin makes no communicator") {
  warm_up();
  const ncclUniqueId id = new_id();
  const int number = GENERATE(0, 1, 2);
  Comms comms(3);
  expect(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank)
    expect(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank));
  {
    const Failing failing(number);
    expect_error(ncclGroupEnd(), ncclSystemError, "no thread could be started");
  }
  CHECK(comms == Comms(3, NCCL_COMM_NULL));
}

TEST_CASE("a non-blocking communicator that cannot begin leaves no handle") {
  warm_up();
  const ncclUniqueId id = new_id();
  ncclConfig_t config = without_blocking();
  ncclComm_t comm = NCCL_COMM_NULL;
  {
    const Failing failing(0);
    expect_error(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSystemError,
                 "no thread could be started");
  }
  CHECK(comm == NCCL_COMM_NULL);
  const ncclResult_t made = ncclCommInitRankConfig(&comm, 1, new_id(), 0, &config);
  CHECK(made == ncclInProgress);
  CHECK(settled(comm) == ncclSuccess);
  expect(ncclCommDestroy(comm));
}

TEST_CASE("a split without a color that cannot begin can be made again") {
  Comms comms(2);
  expect(init_in_group(comms, without_blocking()), ncclInProgress);
  for (const ncclComm_t comm : comms) CHECK(settled(comm) == ncclSuccess);
  Comms children(2);
  {
    const Failing failing(0);
    expect_error(ncclCommSplit(comms[1], NCCL_SPLIT_NOCOLOR, 0, &children[1], nullptr),
                 ncclSystemError, "no thread could be started");
  }
  CHECK(settled(comms[1]) == ncclSuccess);
  CHECK(ncclCommSplit(comms[0], 0, 0, &children[0], nullptr) == ncclInProgress);
  CHECK(ncclCommSplit(comms[1], NCCL_SPLIT_NOCOLOR, 0, &children[1], nullptr) == ncclInProgress);
  CHECK(settled(children[0]) == ncclSuccess);
  CHECK(settled(comms[1]) == ncclSuccess);
  expect(ncclCommDestroy(children[0]));
  abort_all(comms);
}

}  // namespace
}  // namespace rondo::test
