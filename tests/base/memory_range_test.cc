// Written memory overlaps what is read, or itself, in at least one byte.
#include "core/base/memory_range.h"

#include "tests/catch.h"

namespace rondo {
namespace {

TEST_CASE("written memory overlaps itself where two ranges share a byte") {
  CHECK_FALSE(WrittenMemory({}).meets_itself());
  CHECK_FALSE(WrittenMemory({{20, 5}, {10, 10}, {25, 1}}).meets_itself());
  CHECK(WrittenMemory({{20, 5}, {10, 11}}).meets_itself());
  CHECK(WrittenMemory({{10, 1}, {10, 1}}).meets_itself());
  CHECK_FALSE(WrittenMemory({{10, 5}, {12, 0}, {12, 0}}).meets_itself());
}

// The oracle: every byte by itself.
TEST_CASE("a range overlaps written memory where they share a byte") {
  const std::vector<MemoryRange> ranges{{12, 0}, {20, 5}, {10, 4}, {25, 1}};
  const WrittenMemory written(ranges);
  WrittenMemory added({});
  for (const MemoryRange& range : ranges) added.add(range);
  for (std::uintptr_t begin = 5; begin < 30; ++begin) {
    for (std::size_t bytes = 0; bytes < 20; ++bytes) {
      bool shared = false;
      for (std::uintptr_t at = begin; at < begin + bytes; ++at) {
        for (const MemoryRange& range : ranges) shared |= range.begin <= at && at < range.end();
      }
      INFO(begin << " and " << bytes << " bytes");
      CHECK(written.meets({begin, bytes}) == shared);
      CHECK(added.meets({begin, bytes}) == shared);
    }
  }
}

}  // namespace
}  // namespace rondo
