#include "bench/floor/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/common/size.h"
#include "bench/floor/calls.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

using Row = Timed::Row;

constexpr std::size_t small = 8;
constexpr std::size_t medium = std::size_t{64} << 10;
constexpr std::size_t large = std::size_t{64} << 20;

const Row* find(const Timed& timed, const std::string& name) {
  const auto row = std::ranges::find(timed.rows, name, &Row::name);
  return row == timed.rows.end() ? nullptr : &*row;
}

/// What the machine's memory allows: its messages and its bytes. The better of two copies counts.
std::optional<Row> memory_bound(const Timed& timed) {
  const Row* const flags = find(timed, timed::flags);
  if (flags == nullptr) return std::nullopt;
  const Row* copy = find(timed, timed::copy);
  const Row* const streaming = find(timed, timed::copy_streaming);
  if (copy == nullptr || streaming == nullptr) return *flags;
  if (spread_of(streaming->seconds).median < spread_of(copy->seconds).median) copy = streaming;
  Row both{std::string(flags->name) + " + " + copy->name, flags->seconds};
  for (std::size_t i = 0; i < std::min(both.seconds.size(), copy->seconds.size()); ++i)
    both.seconds[i] += copy->seconds[i];
  return both;
}

/// The executor may take a quarter longer than the algorithm by hand, and a tenth where data counts.
std::optional<double> wanted_of(const std::string& name, std::size_t bytes) {
  const bool executor = name == timed::by_executor;
  if (bytes == small) return executor ? 1 / 1.25 : 1 / 1.3;
  if (executor && bytes >= medium) return 1 / 1.10;
  return bytes == large && name == timed::windows ? std::optional(0.75) : std::nullopt;
}

template <class... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return std::string(text.data()) + "\n";
}

std::string measured_text(const Timed& timed) {
  constexpr double micro = 1e6;
  std::string text;
  for (const Row& row : timed.rows) {
    const Spread seconds = spread_of(row.seconds);
    text +=
        line(" %9s  %-40s %12.3f %12.3f..%.3f", format_size(timed.bytes).c_str(), row.name.c_str(),
             seconds.median * micro, seconds.low * micro, seconds.high * micro);
  }
  return text;
}

std::string compared_text(const Timed& timed) {
  std::string text;
  for (const Comparison& row : compare(timed)) {
    const std::string goal =
        row.wanted
            ? line("; %s: wanted %.0f%%", row.reached() ? "reached" : "MISSED", *row.wanted * 100)
            : "\n";
    text += line(" %9s  %-30s %5.0f%% [%.0f..%.0f] of %s", format_size(timed.bytes).c_str(),
                 row.name.c_str(), row.share.median * 100, row.share.low * 100,
                 row.share.high * 100, row.bound.c_str());
    text.replace(text.size() - 1, 1, goal);
  }
  return text;
}

}  // namespace

std::vector<Comparison> compare(const Timed& timed) {
  std::vector<Comparison> all;
  const auto add = [&](const char* name, const Row* bound) {
    const Row* const row = find(timed, name);
    if (row == nullptr || bound == nullptr) return;
    all.push_back({name, bound->name, ratio_spread(bound->seconds, row->seconds),
                   wanted_of(name, timed.bytes)});
  };
  const std::optional<Row> memory = memory_bound(timed);
  for (const char* name : {timed::heap, timed::windows}) add(name, memory ? &*memory : nullptr);
  add(timed::by_executor, find(timed, timed::by_hand));
  return all;
}

std::string floor_text(int ranks, int rounds, const std::vector<Timed>& all) {
  std::string text =
      line("# rondo_floor, rondo %s: %d processes, one to a core; medians, quartiles of %d rounds",
           version(), ranks, rounds) +
      line("#%9s  %-40s %12s %12s..%s", "size", "timed", "us", "us", "us");
  for (const Timed& timed : all) text += measured_text(timed);
  text += "#\n# speed in per cent of the bound, in the same rounds:\n";
  for (const Timed& timed : all) text += compared_text(timed);
  return text;
}

}  // namespace rondo::bench
