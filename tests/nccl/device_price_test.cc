// How many driver calls a collective of ranks that share a GPU makes. Each takes part of a
// microsecond, and those that put something into a stream exclude each other.
#include <array>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

constexpr std::array functions{
    "cuCtxPopCurrent",        "cuCtxPushCurrent",       "cuEventRecord",
    "cuEventRecordWithFlags", "cuLaunchHostFunc",       "cuLaunchKernel",
    "cuMemcpyAsync",          "cuPointerGetAttribute",  "cuPointerGetAttributes",
    "cuStreamBatchMemOp",     "cuStreamGetCaptureInfo", "cuStreamGetCtx",
    "cuStreamGetId",          "cuStreamWaitEvent"};

std::vector<int> counts() {
  std::vector<int> counts;
  for (const char* const function : functions) counts.push_back(fake_calls(function));
  return counts;
}

/// What `body` asks of the driver, such as "cuEventRecord 3, cuLaunchKernel 1".
template <class Body>
std::string asked_by(const Body& body) {
  const std::vector<int> before = counts();
  body();
  const std::vector<int> after = counts();
  std::string words;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (after[i] == before[i]) continue;
    words += (words.empty() ? "" : ", ") + std::string(functions[i]) + " " +
             std::to_string(after[i] - before[i]);
  }
  return words;
}

/// A rank asks once about each buffer, once for its stream's context, and twice what captures the
/// stream. All ranks' streams but one are joined before the launch, and go on after it. That one is asked
/// which it is, before and after: it need not wait for the call before, which was in it, too.
std::string expected(int ranks) {
  const auto times = [&](int each) { return " " + std::to_string(each) + ", "; };
  return "cuCtxPopCurrent 3, cuCtxPushCurrent 3, cuEventRecord" + times(ranks) +
         "cuLaunchKernel 1, cuPointerGetAttributes" + times(2 * ranks) + "cuStreamGetCaptureInfo" +
         times(2 * ranks) + "cuStreamGetCtx" + times(ranks) +
         "cuStreamGetId 2, cuStreamWaitEvent " + std::to_string(2 * (ranks - 1));
}

TEST_CASE("what a small all-reduce of ranks that share a device asks of the driver", "[fake]") {
  if (lacks_kernels()) return;
  const int ranks = GENERATE(2, 8);
  const bool threads = GENERATE(false, true);
  cuCtxSetCurrent(device_context(0));
  const std::vector<int> device_of(static_cast<std::size_t>(ranks), 0);
  std::vector<ncclComm_t> comms(device_of.size());
  // The threads meet, however long that takes.
  const Setting setting("RONDO_JOIN_THREADS", "60");
  expect(ncclCommInitAll(comms.data(), ranks, device_of.data()));
  const Together all(comms, device_of, 2);
  const auto together = [&] {
    if (!threads) return expect(all.reduce_all());
    on_all_ranks(ranks, [&](int rank) { expect(all.reduce(static_cast<std::size_t>(rank))); });
  };
  together();
  // Threads of communicators that other cases have ended may still give back what they had.
  std::string asked;
  for (int i = 0; i < 100 && asked != expected(ranks); ++i) asked = asked_by(together);
  CHECK(asked == expected(ranks));
  all.finish();
  destroy(comms);
}

}  // namespace
}  // namespace rondo::test
