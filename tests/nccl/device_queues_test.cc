// Few hardware queues for many streams: streams are made with the communicator, equal calls go on
// whatever queues they share, and a rank that has too few queues for some calls says so.
#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/log.h"
#include "tests/sanitizers.h"

namespace rondo::test {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Ranks with a device each, so with queues of their own, as processes have them.
std::vector<ncclComm_t> init_apart(int ranks) {
  std::vector<int> device_of;
  for (int rank = 0; rank < ranks; ++rank) device_of.push_back(rank);
  const Setting finite("RONDO_DEVICE_EXECUTOR", "finite");
  return init_on(device_of);
}

TEST_CASE("streams are made with the communicator, not in calls", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const std::vector<ncclComm_t> comms = init(way, 5);
  run_on_device(comms, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const Bytes sent(pattern(6 * mebibyte, rank));
    const Bytes received(Image(5 * 6 * mebibyte, 0));
    const int before = fake_calls("cuStreamCreate");
    expect(ncclGroupStart());
    for (int peer = 0; peer < 5; ++peer) {
      const std::size_t bytes = 6 * mebibyte;
      expect(ncclSend(sent.data(), bytes, ncclUint8, peer, comm, stream));
      expect(ncclRecv(received.data() + static_cast<std::size_t>(peer) * bytes, bytes, ncclUint8,
                      peer, comm, stream));
    }
    expect(ncclGroupEnd());
    stream.finish();
    expect_that(fake_calls("cuStreamCreate") - before <= 4, "only the test's own streams");
    expect_equal(received.get(), blocks(5, [](int peer) { return pattern(6 * mebibyte, peer); }),
                 "all blocks");
  });
}

TEST_CASE("groups that all ranks make alike go on in one queue", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const SharedQueues shared(1);
  const Setting disable("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  const Case different{.between = [](int from, int to) {
    return static_cast<std::size_t>(from * 3 + to) * (is_sanitized ? 150'000 : 1'200'000);
  }};
  check_destroyed(init_apart(4), {different, different}, {.by_messages = true});
}

TEST_CASE("collectives go on in one queue", "[fake]") {
  const Way way = GENERATE(Way::through_host, Way::between_devices);
  const SharedQueues shared(1);
  const Setting disable("NCCL_P2P_DISABLE", way == Way::through_host ? "1" : "0");
  check_destroyed(init_apart(3), every_collective(is_sanitized ? 300'000 : 1'500'000, 2));
}

/// What two ranks with so many queues log when they make a communicator.
std::string logged_with_queues(const std::string& queues) {
  const Setting connections("CUDA_DEVICE_MAX_CONNECTIONS", queues);
  return logged_while([] { destroy(init_on_device(2)); });
}

TEST_CASE("one rank warns of too few queues, and says what can hang", "[fake]") {
  const std::string text = logged_with_queues("1");
  INFO(text);
  const std::string words = "CUDA_DEVICE_MAX_CONNECTIONS=1 on rank 0: ";
  const std::size_t first = text.find(words);
  REQUIRE(first != std::string::npos);
  CHECK(text.find("CUDA_DEVICE_MAX_CONNECTIONS", first + 1) == std::string::npos);
  CHECK(text.find("a message of more than 4194304 bytes") != std::string::npos);
  CHECK(text.find("set at least 3") != std::string::npos);
  for (const char* const enough : {"3", ""})
    CHECK_THAT(logged_with_queues(enough), !Catch::Contains("CUDA_DEVICE_MAX_CONNECTIONS"));
}

}  // namespace
}  // namespace rondo::test
