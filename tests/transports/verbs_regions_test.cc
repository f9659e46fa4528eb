// Which memory is registered with a device, and when: with a made-up device and made-up memory, and
// with the windows of this process. Needs no device, no libibverbs and not its headers.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rondo/error.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "transports/verbs/region_cache.h"

namespace rondo::testing {
namespace {

using verbs::Block;
using verbs::RegionCache;
using verbs::Registration;

/// Only addresses of memory are looked at, so any memory will do.
class MadeUpBlocks final : public verbs::BlockSource {
 public:
  std::optional<Block> find(const void* memory, std::size_t bytes) const override {
    const auto* const begin = static_cast<const std::byte*>(memory);
    for (const Block& block : blocks_) {
      if (begin >= block.base && begin + bytes <= block.base + block.bytes) return block;
    }
    return std::nullopt;
  }
  std::uint64_t freed() const override { return freed_; }

  /// A block that begins at the `index`-th thousand bytes of an array.
  std::span<const std::byte> make(std::size_t index, std::size_t bytes = 1000) {
    const std::byte* const base = array_.data() + 1000 * index;
    blocks_.push_back({.number = ++last_, .base = base, .bytes = bytes});
    return {base, bytes};
  }
  void free(std::span<const std::byte> memory) {
    std::erase_if(blocks_, [&](const Block& block) { return block.base == memory.data(); });
    ++freed_;
  }

 private:
  std::vector<std::byte> array_ = std::vector<std::byte>(20'000);
  std::vector<Block> blocks_{};
  std::uint64_t last_ = 0;
  std::uint64_t freed_ = 0;
};

class MadeUpDevice final : public RegionCache::Device {
 public:
  Registration register_block(const Block& block) override {
    if (refuses) throw Error(ErrorCode::out_of_memory, "no more memory may be locked");
    ++made;
    const auto forget = [this](const std::uint64_t* number) {
      known.erase(*number);
      delete number;
    };
    known[block.number] = static_cast<std::uint32_t>(made);
    return {std::shared_ptr<std::uint64_t>(std::make_unique<std::uint64_t>(block.number).release(),
                                           forget),
            static_cast<std::uint32_t>(made)};
  }
  std::uint64_t oldest_read() const override { return oldest; }

  bool refuses = false;
  std::uint64_t oldest = nothing_read;
  int made = 0;
  std::map<std::uint64_t, std::uint32_t> known{};  ///< keys by block
};

struct Setting {
  explicit Setting(RegionCache::Limits limits = {.blocks = 3, .bytes = 2500})
      : cache(blocks, device, limits) {}

  /// Sends the whole block so often that it is registered.
  std::uint32_t earn(std::span<const std::byte> memory) {
    CHECK_FALSE(cache.key(memory));
    const auto key = cache.key(memory);
    REQUIRE(key);
    return *key;
  }

  std::shared_ptr<MadeUpBlocks> blocks = std::make_shared<MadeUpBlocks>();
  MadeUpDevice device{};
  RegionCache cache;
};

}  // namespace

TEST_CASE("memory that nobody watches is never registered", "[verbs]") {
  Setting setting;
  const std::vector<std::byte> heap(1000);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(setting.cache.key(heap));
  CHECK(setting.device.made == 0);
}

TEST_CASE("a block is registered once as much was copied as it holds, and once only", "[verbs]") {
  Setting setting;
  const auto block = setting.blocks->make(0);
  for (int i = 0; i < 4; ++i) CHECK_FALSE(setting.cache.key(block.subspan(100, 250)));
  CHECK(setting.device.made == 0);
  for (int i = 0; i < 100; ++i) CHECK(setting.cache.key(block.subspan(7, 13)) == 1u);
  CHECK(setting.device.made == 1);
  CHECK(setting.cache.registrations() == 1);
  CHECK(setting.cache.registered_bytes() == 1000);
  CHECK_FALSE(setting.cache.key({block.data() + 500, 501}));  // beyond its end
}

TEST_CASE("a freed block is let go, and its successor is another", "[verbs]") {
  Setting setting;
  const auto block = setting.blocks->make(0);
  setting.earn(block);
  setting.blocks->free(block);
  SECTION("before anything else is sent") {
    setting.cache.forget_freed();
    CHECK(setting.device.known.empty());
    CHECK(setting.cache.registered_bytes() == 0);
    CHECK_FALSE(setting.cache.key(block));
  }
  SECTION("when another one lies there") {
    const auto successor = setting.blocks->make(0);
    CHECK_FALSE(setting.cache.key(successor));
    CHECK(setting.device.known.empty());
    CHECK(setting.cache.key(successor) == 2u);
  }
}

TEST_CASE("a freed block stays known as long as it may be sent once more", "[verbs]") {
  Setting setting;
  const auto block = setting.blocks->make(0);
  const auto other = setting.blocks->make(1);
  setting.earn(block);
  setting.earn(other);
  CHECK(setting.cache.uses() == 4);
  setting.device.oldest = 2;
  setting.blocks->free(block);
  CHECK_FALSE(setting.cache.forget_freed());
  CHECK(setting.device.known.size() == 2);
  CHECK(setting.cache.registered_bytes() == 2000);

  const auto successor = setting.blocks->make(0);
  CHECK_FALSE(setting.cache.key(successor));  // has to earn its own
  CHECK(setting.cache.key(other) == 2u);
  CHECK(setting.device.known.size() == 2);

  setting.device.oldest = 3;
  CHECK(setting.cache.forget_freed());
  CHECK(setting.device.known == std::map<std::uint64_t, std::uint32_t>{{2, 2}});
  CHECK(setting.cache.registered_bytes() == 1000);
}

TEST_CASE("freed blocks that stay known take room, which others do not get", "[verbs]") {
  Setting setting({.blocks = 3, .bytes = 1500});
  const auto block = setting.blocks->make(0);
  setting.earn(block);
  setting.device.oldest = 2;
  setting.blocks->free(block);
  const auto next = setting.blocks->make(1);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(setting.cache.key(next));
  setting.device.oldest = RegionCache::Device::nothing_read;
  CHECK(setting.cache.key(next) == 2u);
  CHECK(setting.device.known.size() == 1);
}

TEST_CASE("one freed block leaves the others registered", "[verbs]") {
  Setting setting;
  const auto first = setting.blocks->make(0);
  const auto second = setting.blocks->make(1);
  setting.earn(first);
  const auto key = setting.earn(second);
  setting.blocks->free(first);
  CHECK(setting.cache.key(second) == key);
  CHECK(setting.device.known.size() == 1);
  CHECK(setting.device.made == 2);
}

TEST_CASE("beyond the limit of bytes the least recently used registration goes", "[verbs]") {
  Setting setting;
  const auto first = setting.blocks->make(0);
  const auto second = setting.blocks->make(1);
  setting.earn(first);
  setting.earn(second);
  CHECK(setting.cache.key(first) == 1u);  // the second is the older one now
  const auto third = setting.blocks->make(2);
  CHECK_FALSE(setting.cache.key(third));
  SECTION("while nothing is read") {
    CHECK(setting.cache.key(third) == 3u);
    CHECK(setting.device.known == std::map<std::uint64_t, std::uint32_t>{{1, 1}, {3, 3}});
    CHECK(setting.cache.registered_bytes() == 2000);
    CHECK_FALSE(setting.cache.key(second));  // it must earn it anew
  }
  SECTION("not while the device may still read it") {
    setting.device.oldest = 1;
    CHECK_FALSE(setting.cache.key(third));
    CHECK(setting.device.known.size() == 2);
    CHECK(setting.cache.key(first) == 1u);
  }
  SECTION("while the device may still read what was used later") {
    setting.device.oldest = 5;  // the last use of the first, after two of each
    CHECK(setting.cache.key(third) == 3u);
    CHECK(setting.device.known == std::map<std::uint64_t, std::uint32_t>{{1, 1}, {3, 3}});
  }
}

TEST_CASE("beyond the limit of blocks the least recently used registration goes", "[verbs]") {
  Setting setting({.blocks = 2, .bytes = 100'000});
  const auto first = setting.blocks->make(0);
  const auto second = setting.blocks->make(1);
  const auto third = setting.blocks->make(2);
  setting.earn(first);
  setting.earn(second);
  setting.device.oldest = 1;
  CHECK_FALSE(setting.cache.key(third));
  CHECK_FALSE(setting.cache.key(third));
  CHECK(setting.device.known.size() == 2);
  setting.device.oldest = 3;  // the first block's last use was the second
  setting.earn(third);
  CHECK(setting.device.known == std::map<std::uint64_t, std::uint32_t>{{2, 2}, {3, 3}});
}

TEST_CASE("a block longer than the limit is copied for ever", "[verbs]") {
  Setting setting;
  const auto block = setting.blocks->make(0, 2501);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(setting.cache.key(block));
  CHECK(setting.device.made == 0);
}

TEST_CASE("a block that the device refuses is copied, and not offered again", "[verbs]") {
  Setting setting;
  const auto block = setting.blocks->make(0);
  setting.device.refuses = true;
  for (int i = 0; i < 3; ++i) CHECK_FALSE(setting.cache.key(block));
  setting.device.refuses = false;
  for (int i = 0; i < 3; ++i) CHECK_FALSE(setting.cache.key(block));
  CHECK(setting.device.made == 0);
}

TEST_CASE("the windows of this process are registered", "[verbs]") {
  MadeUpDevice device;
  RegionCache cache(verbs::blocks_of_process(), device, RegionCache::Limits());
  Memory memory = allocate(8192);
  const std::span<const std::byte> whole(static_cast<const std::byte*>(memory.data()), 8192);
  CHECK_FALSE(cache.key(whole));
  CHECK(cache.key(whole.subspan(4096, 100)) == 1u);
  memory = {};
  cache.forget_freed();
  CHECK(device.known.empty());
}

}  // namespace rondo::testing
