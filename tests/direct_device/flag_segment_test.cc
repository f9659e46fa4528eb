// The flag segment: numbers of entries, of which it has the lower 32 bits, after they wrap.
#include "core/direct_device/flag_segment.h"

#include "tests/catch.h"

namespace rondo::direct_device {
namespace {

constexpr std::uint64_t wrap = std::uint64_t{1} << 32;

/// Rank 0's stream has done `completed` entries, of which `reading` was the last to read windows.
FlagSegment page_of(std::uint64_t reading, std::uint64_t completed) {
  FlagSegment flags = FlagSegment::make(2);
  flags.reading(0) = FlagSegment::reading_number(reading);
  flags.completed(0) = static_cast<std::uint32_t>(completed);
  return flags;
}

TEST_CASE("an entry reads windows until it is complete, also where the numbers wrap") {
  const std::uint64_t number =
      GENERATE(std::uint64_t{1}, std::uint64_t{5}, wrap / 2 - 1, wrap / 2, wrap / 2 + 1, wrap - 1,
               wrap + 1, wrap + 5, 3 * wrap / 2, 2 * wrap - 1);
  CHECK(page_of(number, number - 1).uses_windows(0));
  CHECK(page_of(number, number - std::min<std::uint64_t>(number, 1000)).uses_windows(0));
  CHECK_FALSE(page_of(number, number).uses_windows(0));
  CHECK_FALSE(page_of(number, number + 1000).uses_windows(0));
  CHECK_FALSE(page_of(number, number).uses_windows(1));
}

TEST_CASE("an entry whose number would mean none reads windows until the next one is complete") {
  CHECK(page_of(wrap, wrap - 1).uses_windows(0));
  CHECK(page_of(wrap, wrap).uses_windows(0));
  CHECK_FALSE(page_of(wrap, wrap + 1).uses_windows(0));
}

TEST_CASE("an entry that was complete long ago stays complete, however many follow") {
  const std::uint64_t behind = GENERATE(std::uint64_t{1}, wrap / 2 - 1, wrap / 2 + 1, wrap - 1);
  const FlagSegment flags = page_of(5, 4);
  flags.forget_reading(0);
  CHECK(flags.uses_windows(0));  // it is not complete
  flags.completed(0) = 5;
  flags.forget_reading(0);
  flags.completed(0) = static_cast<std::uint32_t>(5 + behind);
  CHECK_FALSE(flags.uses_windows(0));
}

}  // namespace
}  // namespace rondo::direct_device
