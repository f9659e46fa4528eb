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
  CHECK(to_string({.count = 5,
                   .collective = Collective::all_reduce,
                   .type = DataType::float32,
                   .accumulate = DataType::float64,
                   .reproducible = true}) ==
        "all_reduce (5 x float32, sum, accumulated in float64, reproducible)");
  CHECK(to_string({.sequence = 6}) == "barrier #6");
  CHECK(to_string({.count = 2, .collective = Collective::send_recv, .root = 7}) ==
        "send_recv (2 x uint8)");
  CHECK(
      to_string({.sequence = 2, .count = 9, .collective = Collective::all_gather, .blocks = 77}) ==
      "all_gather_v #2 (9 x uint8 in all)");
  CHECK(to_string({.collective = Collective::all_to_all, .blocks = between_pairs}) ==
        "all_to_all_v (uint8)");
  CHECK(to_string({.count = 2, .collective = Collective::send_recv, .blocks = between_pairs}) ==
        "send_recv (2 x uint8 of an all_to_all_v)");
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
              const Call plain{sequence, count, collective.collective, type.type, op.op, root};
              Call wide = plain;
              wide.accumulate = wide_type(type.type).value_or(DataType::int8);
              if (wide == plain) wide.accumulate = DataType::int16;
              Call ordered = plain;
              ordered.reproducible = true;
              calls += 3;
              for (const Call& call : {plain, wide, ordered}) seen.insert(fingerprint(call));
            }
          }
        }
      }
    }
  }
  for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 63}) {
    ++calls;
    seen.insert(fingerprint({.sequence = 1, .count = 2, .blocks = blocks}));
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

TEST_CASE("the log is complete up to the oldest call that is not complete") {
  CallLog log;
  const auto after = [&](bool apart, std::uint64_t sequence) {
    apart ? log.complete_apart(sequence) : log.complete(sequence);
    return log.completed();
  };
  // The calls 2, 3, 5, 8 and 9 are apart.
  for (std::uint64_t sequence = 1; sequence <= 9; ++sequence) {
    const bool apart = sequence == 2 || sequence == 3 || sequence == 5 || sequence >= 8;
    const Call call{.sequence = sequence};
    apart ? log.begin_apart(call) : log.begin(call);
  }
  CHECK(after(true, 3) == 0);
  CHECK(after(false, 1) == 1);
  CHECK(after(false, 4) == 1);
  CHECK(after(true, 9) == 1);
  CHECK(after(true, 2) == 4);
  CHECK(after(false, 6) == 4);
  CHECK(after(true, 5) == 6);
  CHECK(after(true, 8) == 6);
  CHECK(after(false, 7) == 9);
  log.begin({.sequence = 10});
  log.begin_apart({.sequence = 11});
  CHECK(after(false, 10) == 10);
  CHECK(after(true, 11) == 11);
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
