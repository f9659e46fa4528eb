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
  refused(ncclCommInitRank(&comm, 2, id, 1),
          "ncclCommInitRank: rondo: rank 1: this unique id is not valid. "
          "Try: pass ncclCommInitRank the 128 bytes that ncclGetUniqueId wrote, "
          "unchanged");
}

TEST_CASE("bytes that are no plain text are escaped") {
  const Setting set("NCCL_COMM_ID", "\xff\tn\xc3\xb6");
  ncclUniqueId id;
  expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
               "NCCL_COMM_ID=\\xff\\x09n\\xc3\\xb6 is not an address and a port");
}

TEST_CASE("the variable that was set is the one that is named") {
  const bool ours = GENERATE(false, true);
  const std::string prefix = ours ? "RONDO_" : "NCCL_";
  ncclUniqueId id;
  {
    const std::string name = prefix + "COMM_ID";
    const Setting set(name.c_str(), "bad");
    expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
                 "rondo: " + name + "=bad is not an address and a port");
  }
  const std::string name = prefix + "SOCKET_IFNAME";
  const Setting set(name.c_str(), "nope");
  expect_error(ncclGetUniqueId(&id), ncclInvalidUsage,
               "no network interface fits " + name + "=nope. Try: ");
}

TEST_CASE("where words promise details, NCCL_DEBUG=INFO gives them") {
  for (int code = 0; code < ncclNumResults; ++code)
    CHECK(std::strstr(ncclGetErrorString(static_cast<ncclResult_t>(code)), "DEBUG=WARN") ==
          nullptr);
}

}  // namespace
}  // namespace rondo::test
