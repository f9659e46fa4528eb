#include "bench/floor/verdict.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace rondo::bench {
namespace {

constexpr std::size_t large = std::size_t{64} << 20;
constexpr std::size_t small = 8;

double best_rate(const std::vector<Result>& results, std::size_t bytes,
                 std::initializer_list<const char*> names) {
  double best = 0;
  for (const char* name : names) {
    if (const Result* result = find(results, name, bytes)) best = std::max(best, result->rate());
  }
  return best;
}

/// The faster of two results: a floor is what the better one can do.
const Result* faster(const Result* one, const Result* other) {
  if (one == nullptr || other == nullptr) return one == nullptr ? other : one;
  return one->seconds().median <= other->seconds().median ? one : other;
}

const Result* raw_sockets(const std::vector<Result>& results, std::size_t bytes) {
  return faster(find(results, probe::sockets, bytes), find(results, probe::two_sockets, bytes));
}

const Result* raw_memory(const std::vector<Result>& results, std::size_t bytes) {
  return faster(find(results, probe::by_hand, bytes),
                find(results, probe::by_hand_streaming, bytes));
}

void add_comparison(std::vector<Comparison>& list, const Result* actual, const Result* floor) {
  if (actual == nullptr || floor == nullptr) return;
  list.push_back(
      {actual->name, floor->name, actual->bytes, ratio_spread(floor->samples, actual->samples)});
}

void add_verdict(std::vector<Verdict>& verdicts, std::string goal, double wanted,
                 const Result* floor, const Result* actual) {
  if (floor == nullptr || actual == nullptr) return;
  std::vector<double> beyond;
  for (std::size_t i = 0; i < std::min(floor->samples.size(), actual->samples.size()); ++i)
    beyond.push_back(actual->samples[i] - floor->samples[i]);
  verdicts.push_back({std::move(goal), wanted, ratio_spread(floor->samples, actual->samples),
                      spread_of(std::move(beyond))});
}

}  // namespace

Floor floor_at(const std::vector<Result>& results, std::size_t bytes) {
  Floor floor;
  floor.memory_rate = best_rate(results, bytes, {probe::copy_all, probe::copy_all_streaming});
  floor.network_rate = best_rate(results, bytes, {probe::sockets, probe::two_sockets});
  std::size_t smallest = bytes;
  for (const Result& result : results) smallest = std::min(smallest, result.bytes);
  if (const Result* flags = find(results, probe::flags, smallest))
    floor.exchange_seconds = flags->seconds().median;
  if (const Result* sockets = raw_sockets(results, smallest))
    floor.network_seconds = sockets->seconds().median;
  return floor;
}

std::vector<Comparison> promised(const std::vector<Result>& results) {
  std::vector<Comparison> list;
  for (const char* name : {probe::promised_data, probe::promised_failures, probe::promised_log,
                           probe::promised_all, probe::rondo_heap, probe::rondo_window}) {
    const Result* const all = find(results, probe::promised_all, small);
    if (all == nullptr) break;
    const Result* const result = find(results, name, small);
    add_comparison(list, result, find(results, probe::flags, small));
    if (result != nullptr && result->name.starts_with("rondo")) add_comparison(list, result, all);
  }
  return list;
}

std::vector<Comparison> compare(const std::vector<Result>& results) {
  std::vector<Comparison> list = promised(results);
  for (const Result& result : results) {
    const bool memory = result.name == probe::rondo_heap || result.name == probe::rondo_window;
    if (!memory && result.name != probe::rondo_tcp) continue;
    add_comparison(list, &result,
                   memory ? raw_memory(results, result.bytes) : raw_sockets(results, result.bytes));
  }
  return list;
}

std::vector<Verdict> judge(const std::vector<Result>& results, int ranks) {
  std::vector<Verdict> verdicts;
  const Result* copy = faster(find(results, probe::copy_all, large),
                              find(results, probe::copy_all_streaming, large));
  // In a copy on all cores each rank reads N and writes N, as on the direct path. So the time of
  // the copy is the floor.
  add_verdict(verdicts, "64 MB all_reduce on allocate() buffers: 75% of reading N and writing N",
              0.75, copy, find(results, probe::rondo_window, large));
  for (const char* name : {probe::rondo_heap, probe::rondo_window}) {
    add_verdict(verdicts, std::string("8 B ") + name + ": at most 1.3 flag exchanges", 1 / 1.3,
                find(results, probe::flags, small), find(results, name, small));
  }
  if (ranks == 2) {
    add_verdict(verdicts, "64 MB all_reduce over tcp: 85% of raw sockets", 0.85,
                raw_sockets(results, large), find(results, probe::rondo_tcp, large));
  }
  return verdicts;
}

Spread Price::price() const {
  const Spread ratio = ratio_spread(by_executor.samples, by_hand.samples);
  return {ratio.low - 1, ratio.median - 1, ratio.high - 1};
}

std::optional<double> Price::allowed() const {
  if (by_hand.bytes >= std::size_t{64} << 10) return 0.10;
  if (by_hand.bytes <= small) return 0.25;
  return std::nullopt;
}

std::vector<Price> prices(const PriceOptions& options, const std::vector<Result>& results) {
  std::vector<Price> all;
  for (const std::size_t bytes : options.sizes) {
    for (const std::string& transport : options.transports) {
      for (const std::string& algorithm : options.algorithms) {
        const auto by = [&](const char* side) {
          return find(results, probe::priced(transport, algorithm, side), bytes);
        };
        if (const Result* const hand = by(probe::hand))
          all.push_back({transport, algorithm, *hand, *by(probe::executor)});
      }
    }
  }
  return all;
}

}  // namespace rondo::bench
