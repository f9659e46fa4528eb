// Error texts of NCCL's API: they name its functions and the variables that were set, and every
// client can print them.
#include <cstring>

#include "tests/catch.h"
#include "tests/nccl/members.h"
#include "tests/support/setting.h"

namespace rondo::test {
namespace {

TEST_CASE("bytes that are no unique id are refused in plain text, with this API's names") {
  const int byte = GENERATE(0, 0x20, 0x80, 0xff);
  ncclUniqueId id;
  std::memset(&id, byte, sizeof id);
  ncclComm_t comm = nullptr;
  CHECK_NOTHROW(expect_error(ncclCommInitRank(&comm, 2, id, 1), ncclInvalidArgument,
                             "ncclCommInitRank: rondo: rank 1: this unique id is not valid. "
                             "Try: pass ncclCommInitRank the 128 bytes that ncclGetUniqueId wrote, "
                             "unchanged"));
}

TEST_CASE("bytes that are no plain text are escaped") {
  const Setting set("NCCL_COMM_ID", "\xff\tn\xc3\xb6");
  ncclUniqueId id;
  CHECK_NOTHROW(expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
                             "NCCL_COMM_ID=\\xff\\x09n\\xc3\\xb6 is not an address and a port"));
}

TEST_CASE("the variable that was set is the one that is named") {
  const bool ours = GENERATE(false, true);
  const std::string prefix = ours ? "RONDO_" : "NCCL_";
  ncclUniqueId id;
  {
    const std::string name = prefix + "COMM_ID";
    const Setting set(name.c_str(), "bad");
    CHECK_NOTHROW(expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
                               "rondo: " + name + "=bad is not an address and a port"));
  }
  const std::string name = prefix + "SOCKET_IFNAME";
  const Setting set(name.c_str(), "nope");
  CHECK_NOTHROW(expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
                             "no network interface fits " + name + "=nope. Try: "));
}

TEST_CASE("the error of a rank's message to itself outside a group names this API's groups") {
  run_members(init_all(2), [](int rank, ncclComm_t comm) {
    int value = 0;
    expect_error(ncclSend(&value, 1, ncclInt, rank, comm, nullptr), ncclInvalidUsage,
                 ". Try: put ncclSend and ncclRecv between ncclGroupStart and ncclGroupEnd");
  });
}

TEST_CASE("where words promise details, NCCL_DEBUG=INFO gives them") {
  for (int code = 0; code < ncclNumResults; ++code)
    CHECK(std::strstr(ncclGetErrorString(static_cast<ncclResult_t>(code)), "DEBUG=WARN") ==
          nullptr);
}

TEST_CASE("errors of growing and of windows name this API's functions") {
  const std::vector<ncclComm_t> comms = init_all(1);
  ncclComm_t grown = nullptr;
  CHECK_NOTHROW(expect_error(ncclCommGrow(comms[0], 2, nullptr, -1, &grown, nullptr),
                             ncclInvalidUsage, "passes what ncclCommGetUniqueId wrote"));
  int values[2]{};
  ncclWindow_t window = nullptr;
  CHECK(ncclCommWindowRegister(comms[0], values, sizeof values, &window, NCCL_WIN_COLL_SYMMETRIC) ==
        ncclSuccess);
  CHECK_NOTHROW(expect_error(
      ncclPutSignal(values, 1, ncclInt, 0, window, sizeof values, 0, 0, 0, comms[0], nullptr),
      ncclInvalidArgument, "stay in what the peer passed to ncclCommWindowRegister"));
  destroy(comms);
}

TEST_CASE("the error of a destroyed communicator says what to do") {
  const std::vector<ncclComm_t> comms = init_all(1);
  destroy(comms);
  CHECK_NOTHROW(expect_error(ncclCommDestroy(comms[0]), ncclInvalidArgument,
                             ". Try: make another one with ncclCommInitRank"));
}

TEST_CASE("peers of a rank that aborted hear who it was and what to do") {
  const std::vector<ncclComm_t> comms = init_all(2);
  on_all_ranks(2, [&](int rank) {
    int value = 0;
    if (rank == 0) return expect(ncclCommAbort(comms[0]));
    const ncclResult_t result =
        ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comms[1], nullptr);
    expect_error(result, ncclRemoteError, "rank 0 reports: the communicator was aborted");
    expect_error(result, ncclRemoteError,
                 ". Try: call ncclCommAbort on every rank, and make another communicator");
    expect(ncclCommAbort(comms[1]));
  });
}

}  // namespace
}  // namespace rondo::test
