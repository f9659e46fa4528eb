// Frames that wait for the kernel: they keep their order and bytes, and the promised number has
// room, whatever was there before.
#include <deque>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "transports/tcp/frame.h"

namespace rondo::tcp {
namespace {

constexpr std::size_t slot_bytes = 4096;

/// The queue, and what it must hold.
class Twin {
 public:
  explicit Twin(std::size_t header_bytes) : header_bytes_(header_bytes) {}

  /// False: no room.
  bool add(std::size_t bytes) {
    std::byte* const memory = frames_.acquire();
    if (memory == nullptr) return false;
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    FrameHeader header{
        .fingerprint = 7, .bytes = static_cast<std::uint32_t>(bytes), .number = number_++};
    const std::span<std::byte> travels = header.last(header_bytes_);
    expected_.insert(expected_.end(), travels.begin(), travels.end());
    for (std::size_t i = 0; i < bytes; ++i) {
      memory[i] = static_cast<std::byte>(header.number * 31 + i);
      expected_.push_back(memory[i]);
    }
    CHECK(frames_.acquire() == memory);
    frames_.commit(header, header_bytes_, bytes);
    return true;
  }

  void send(std::size_t most) {
    const std::span<std::byte> front = frames_.front();
    const std::size_t bytes = std::min(most, front.size());
    REQUIRE(std::equal(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(bytes),
                       expected_.begin()));
    expected_.erase(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(bytes));
    frames_.sent(bytes);
    CHECK(frames_.empty() == expected_.empty());
  }

  bool empty() const { return frames_.empty(); }

 private:
  std::size_t header_bytes_;
  UnsentFrames frames_{slot_bytes, {}};
  std::deque<std::byte> expected_{};
  std::uint32_t number_ = 0;
};

TEST_CASE("unsent frames keep their order, and as many have room as is promised", "[transports]") {
  const std::size_t header_bytes = GENERATE(FrameSizes::plain_header, FrameSizes::checked_header);
  std::mt19937 random(5);
  for (const std::size_t longest :
       {std::size_t{8}, std::size_t{256}, std::size_t{1000}, slot_bytes}) {
    Twin twin(header_bytes);
    for (int turn = 0; turn < 300; ++turn) {
      std::size_t held = 0;
      while (twin.add(longest)) ++held;
      if (turn == 0) CHECK(held >= UnsentFrames::depth(slot_bytes, longest));
      for (std::size_t sends = random() % 40; sends > 0 && !twin.empty(); --sends)
        twin.send(1 + random() % (longest + header_bytes));
    }
    while (!twin.empty()) twin.send(100);
    CHECK(twin.add(longest));
  }
}

TEST_CASE("room for the promised frames does not depend on what was sent before", "[transports]") {
  const std::size_t header_bytes = GENERATE(FrameSizes::plain_header, FrameSizes::checked_header);
  for (const std::size_t bytes : {std::size_t{256}, std::size_t{1024}, slot_bytes}) {
    for (std::size_t before = 1; before < 12; ++before) {
      Twin twin(header_bytes);
      std::size_t added = 0;
      while (added < before && twin.add(bytes)) ++added;
      for (std::size_t i = 0; i + 1 < added; ++i) twin.send(bytes + header_bytes);
      std::size_t held = added > 0 ? 1 : 0;
      while (twin.add(bytes)) ++held;
      CAPTURE(bytes, before);
      CHECK(held >= UnsentFrames::depth(slot_bytes, bytes));
    }
  }
}

}  // namespace
}  // namespace rondo::tcp
