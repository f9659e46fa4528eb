// Calls as ranks compare them: text, fingerprint, log.
#include "core/control/call.h"

#include <set>
#include <thread>

#include "tests/catch.h"

namespace rondo {
namespace {

TEST_CASE("a call reads as its user wrote it") {
  const Call sum{.sequence = 12,
                 .count = 1024,
                 .collective = Collective::all_reduce,
                 .type = DataType::float32};
  CHECK(to_string(sum) == "all_reduce #12 (1024 x float32, sum)");
  CHECK(to_string({.sequence = 3,
                   .count = 1,
                   .collective = Collective::reduce,
                   .type = DataType::int8,
                   .op = ReduceOperator::max,
                   .root = 2}) == "reduce #3 (1 x int8, max, root 2)");
  CHECK(to_string({.sequence = 4, .count = 9, .collective = Collective::broadcast, .root = 1}) ==
        "broadcast #4 (9 x uint8, root 1)");
  CHECK(to_string({.sequence = 5, .count = 9, .collective = Collective::all_to_all}) ==
        "all_to_all #5 (9 x uint8)");
  CHECK(to_string({.sequence = 6}) == "barrier #6");
  CHECK(to_string({.count = 2, .collective = Collective::send_recv, .root = 7}) ==
        "send_recv (2 x uint8)");
}

TEST_CASE("calls that differ in anything differ in fingerprint") {
  std::set<std::uint64_t> seen;
  std::size_t calls = 0;
  for (const auto& collective : collectives) {
    for (const auto& type : data_types) {
      for (const auto& op : reduce_operators) {
        for (const int root : {0, 1, 63}) {
          for (const std::uint64_t count : {0ULL, 1ULL, 2ULL, 1ULL << 40}) {
            for (const std::uint64_t sequence : {1ULL, 2ULL, 1ULL << 33}) {
              ++calls;
              seen.insert(
                  fingerprint({sequence, count, collective.collective, type.type, op.op, root}));
            }
          }
        }
      }
    }
  }
  CHECK(seen.size() == calls);
  CHECK(seen.count(0) == 0);
}

TEST_CASE("each bit of a call moves about half of the fingerprint") {
  const Call base{.sequence = 77, .count = 4096, .collective = Collective::all_reduce};
  for (int bit = 0; bit < 64; ++bit) {
    Call changed = base;
    changed.count ^= std::uint64_t{1} << bit;
    const int moved = __builtin_popcountll(fingerprint(base) ^ fingerprint(changed));
    CHECK(moved >= 12);
    CHECK(moved <= 52);
  }
}

TEST_CASE("the log keeps the last calls") {
  CallLog log;
  CHECK(log.begun() == 0);
  CHECK_FALSE(log.find(0));
  CHECK_FALSE(log.find(1));
  for (std::uint64_t sequence = 1; sequence <= 2 * CallLog::kept; ++sequence) {
    log.begin({.sequence = sequence, .count = sequence * 3, .root = -1});
    log.complete(sequence - 1);
  }
  CHECK(log.begun() == 2 * CallLog::kept);
  CHECK(log.completed() == 2 * CallLog::kept - 1);
  CHECK_FALSE(log.find(CallLog::kept));
  for (std::uint64_t sequence = CallLog::kept + 1; sequence <= 2 * CallLog::kept; ++sequence) {
    CHECK(log.find(sequence) == Call{.sequence = sequence, .count = sequence * 3, .root = -1});
  }
}

TEST_CASE("a reader sees whole calls while the writer goes on") {
  CallLog log;
  constexpr std::uint64_t last = 20000;
  std::atomic<std::uint64_t> torn{0};
  std::thread reader([&] {
    for (std::uint64_t newest = 0; newest < last;) {
      newest = log.begun();
      const auto call = log.find(newest);
      if (call && (call->count != newest * 7 || call->root != static_cast<int>(newest))) ++torn;
    }
  });
  for (std::uint64_t sequence = 1; sequence <= last; ++sequence) {
    log.begin({.sequence = sequence, .count = sequence * 7, .root = static_cast<int>(sequence)});
  }
  reader.join();
  CHECK(torn == 0);
}

}  // namespace
}  // namespace rondo
