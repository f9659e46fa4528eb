// Memory that a failed rank does not give back. This is a program of its own, because it never gets
// that memory back.
#include "tests/catch.h"
#include "tests/resident/log.h"
#include "tests/resident/ranks.h"

namespace rondo::test {
namespace {

TEST_CASE("memory where a living rank's kernels may write is kept when its owner has failed") {
  if (RONDO_WITH_KERNELS == 0) return;
  const Log log;
  const std::vector<ncclComm_t> comms = log.record([] { return init_on_own(2); });
  expect(ncclCommAbort(comms[0]));
  // Rank 1 does not end the communicator, so rank 0 waits until its timeout.
  log.wait_for("bytes of device memory stay taken until this process ends");
  expect(ncclCommAbort(comms[1]));
  while (fake_blocks() > 1) std::this_thread::yield();  // threads give back all but rank 0's heap
  CHECK(fake_blocks() == 1);
  CHECK(fake_violations() == 0);
}

}  // namespace
}  // namespace rondo::test
