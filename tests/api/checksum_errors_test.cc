// Options::checksum end to end: what changes on its way fails the communicator on every rank.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::expect_that;
using test::with_world;

constexpr auto u8 = DataType::uint8;
constexpr std::size_t bytes = std::size_t{64} << 20;

/// The race with the thread that sends is the point: no sanitizer may look.
__attribute__((no_sanitize("thread"))) void spoil(std::vector<unsigned char>& data) {
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(byte + 1);
}

/// Sends far more than the kernel takes. The frame that is stuck half way has its checksum already;
/// then all bytes change under it, as they may on a wire. False: nothing was stuck.
bool send_and_spoil(Communicator& comm, std::vector<unsigned char>& data, Work& sent) {
  sent = comm.send_async(data.data(), data.size(), u8, 1);
  std::uint64_t frames = 0;
  for (int still = 0; still < 1000; ++still) {
    if (sent.test()) return false;
    const std::uint64_t now = comm.traffic().frames;
    if (std::exchange(frames, now) != now) still = 0;
  }
  spoil(data);
  return true;
}

}  // namespace

TEST_CASE("with checksums, data that changes under way is an error of every rank") {
  const std::string words = "data was changed on the way from rank 0 to rank 1 over tcp";
  const Options options{.transport = "tcp", .checksum = true};
  with_world(3, options, [&](Communicator& comm) {
    std::vector<unsigned char> data(bytes);
    Work sent;
    comm.barrier();
    if (comm.rank() == 0) expect_that(send_and_spoil(comm, data, sent), "it is too long to go");
    if (comm.rank() == 1) {
      comm.barrier();
      const Error error = error_of([&] { comm.recv(data.data(), bytes, u8, 0); });
      expect(error, ErrorCode::system, words);
      expect(error, ErrorCode::system, " bytes has CRC32C ");
      expect(error, ErrorCode::system, "[peer rank 0] [in send_recv (67108864 x uint8)]");
    } else {
      // Rank 1 may be ahead, so that even the barrier fails.
      const Error error = error_of([&] {
        comm.barrier();
        if (comm.rank() == 0) return sent.wait();
        comm.recv(data.data(), 1, u8, 1);
      });
      expect(error, ErrorCode::system, words);
    }
    expect(error_of([&] { comm.barrier(); }), ErrorCode::system, words);
  });
}

TEST_CASE("without checksums the same change goes unnoticed") {
  with_world(2, {.transport = "tcp"}, [&](Communicator& comm) {
    std::vector<unsigned char> data(bytes);
    Work sent;
    comm.barrier();
    if (comm.rank() == 0) expect_that(send_and_spoil(comm, data, sent), "it is too long to go");
    comm.barrier();
    if (comm.rank() == 0) return sent.wait();
    comm.recv(data.data(), bytes, u8, 0);
    expect_that(data.back() == 1, "the rest is what it was changed to");
  });
}

TEST_CASE("with checksums calls go by messages, and are right") {
  for (const bool checksum : {false, true}) {
    with_world(3, {.checksum = checksum}, [&](Communicator& comm) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300000}}) {
        std::vector<float> data(count, 1.0F);
        comm.all_reduce(data.data(), data.data(), count, DataType::float32);
        expect_that(data == std::vector<float>(count, 3.0F), "the sum is right");
      }
      expect_that((comm.traffic().direct_bytes == 0) == checksum, "direct only without checksums");
    });
  }
}

}  // namespace rondo
