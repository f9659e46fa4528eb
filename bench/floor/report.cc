#include "bench/floor/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "bench/common/size.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double micro = 1e6;
constexpr double giga = 1e9;
constexpr std::array rank_counts{2, 4};

template <class... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return std::string(text.data()) + "\n";
}

std::string measurements(const std::vector<Result>& results) {
  std::string text =
      line("#%9s  %-40s %12s %12s..%-12s %9s", "size", "measured", "us", "us", "us", "GB/s");
  for (const Result& result : results) {
    const Spread seconds = result.seconds();
    const std::string rate =
        result.traffic > 0 ? std::to_string(result.rate() / giga).substr(0, 7) : "";
    text += line(" %9s  %-40s %12.3f %12.3f..%-12.3f %9s", format_size(result.bytes).c_str(),
                 result.name.c_str(), seconds.median * micro, seconds.low * micro,
                 seconds.high * micro, rate.c_str());
  }
  return text;
}

std::set<std::size_t> sizes_of(const std::vector<Result>& results) {
  std::set<std::size_t> sizes;
  for (const Result& result : results) sizes.insert(result.bytes);
  return sizes;
}

/// A table for each number of ranks. Each path has a row with its bytes, its messages, and the
/// least time at each size.
std::string floors(const std::vector<Result>& results) {
  const auto sizes = sizes_of(results);
  std::string text;
  for (const int ranks : rank_counts) {
    text += line(
        "#\n# lower bounds at P=%d. bytes: read and written by a rank (tcp: sent) per byte of the "
        "vector;",
        ranks);
    text += "# msgs: messages that follow each other; then the least microseconds at each size\n";
    std::string titles;
    for (const std::size_t bytes : sizes) titles += line("%10s", format_size(bytes).c_str());
    std::erase(titles, '\n');
    text += line("#%-16s %6s %5s%s", "path", "bytes", "msgs", titles.c_str());
    for (const Path& path : paths()) {
      std::string cells;
      for (const std::size_t bytes : sizes) {
        const double seconds = floor_seconds(path, floor_at(results, bytes), bytes, ranks);
        cells += line("%10.2f", seconds * micro);
      }
      std::erase(cells, '\n');
      text += line(" %-16s %6.2f %5d%s", std::string(path.name).c_str(), path.touched(ranks),
                   path.messages(ranks), cells.c_str());
    }
  }
  return text;
}

std::string nearness(const std::vector<Result>& results, int ranks) {
  std::string text = "#\n# speed in per cent of the same done by hand, in the same run:\n";
  for (const Comparison& row : compare(results)) {
    text += line(" %9s  %-40s %5.0f%% [%.0f..%.0f] of %s", format_size(row.bytes).c_str(),
                 row.name.c_str(), row.share.median * 100, row.share.low * 100,
                 row.share.high * 100, row.floor.c_str());
  }
  text += "#\n";
  for (const Verdict& verdict : judge(results, ranks)) {
    text += line("# %s: %s: %.0f%% [%.0f..%.0f], wanted %.0f%%; %.3f us more",
                 verdict.reached() ? "reached" : "MISSED", verdict.goal.c_str(),
                 verdict.share.median * 100, verdict.share.low * 100, verdict.share.high * 100,
                 verdict.wanted * 100, verdict.beyond.median * micro);
  }
  return text;
}

std::string price_row(const Price& price) {
  const Spread more = price.price();
  std::string verdict;
  if (price.allowed())
    verdict = (price.met() ? "within " : "OVER ") +
              std::to_string(static_cast<int>(*price.allowed() * 100)) + "%";
  return line(" %9s  %-4s %-9s %12.3f %12.3f %+8.1f%% [%+.1f..%+.1f]  %s",
              format_size(price.by_hand.bytes).c_str(), price.transport.c_str(),
              price.algorithm.c_str(), price.by_hand.seconds().median * micro,
              price.by_executor.seconds().median * micro, more.median * 100, more.low * 100,
              more.high * 100, verdict.c_str());
}

Json spread_json(const Spread& spread, double factor) {
  return {{"low", spread.low * factor},
          {"median", spread.median * factor},
          {"high", spread.high * factor}};
}

}  // namespace

std::string floor_text(const FloorOptions& options, const std::vector<Result>& results) {
  std::string text =
      line("# rondo_floor, rondo %s: %d processes, one to a core; medians, quartiles of %d rounds",
           version(), options.ranks, options.rounds);
  text += measurements(results) + floors(results);
  if (options.against) text += nearness(results, options.ranks);
  return text;
}

Json floor_json(const FloorOptions& options, const std::vector<Result>& results) {
  Json document{{"rondo_version", version()}, {"ranks", options.ranks},  {"rounds", options.rounds},
                {"measured", Json::array()},  {"floors", Json::array()}, {"against", Json::array()},
                {"verdicts", Json::array()}};
  for (const Result& result : results) {
    document["measured"].push_back({{"name", result.name},
                                    {"bytes", result.bytes},
                                    {"us", spread_json(result.seconds(), micro)},
                                    {"gigabytes_per_second", result.rate() / giga}});
  }
  for (const int ranks : rank_counts) {
    for (const Path& path : paths()) {
      for (const std::size_t bytes : sizes_of(results)) {
        const double seconds = floor_seconds(path, floor_at(results, bytes), bytes, ranks);
        document["floors"].push_back({{"path", path.name},
                                      {"ranks", ranks},
                                      {"bytes", bytes},
                                      {"touched_per_byte", path.touched(ranks)},
                                      {"messages", path.messages(ranks)},
                                      {"us", seconds * micro}});
      }
    }
  }
  for (const Comparison& row : compare(results)) {
    document["against"].push_back({{"name", row.name},
                                   {"floor", row.floor},
                                   {"bytes", row.bytes},
                                   {"per_cent", spread_json(row.share, 100)}});
  }
  for (const Verdict& verdict : judge(results, options.ranks)) {
    document["verdicts"].push_back({{"goal", verdict.goal},
                                    {"wanted_per_cent", verdict.wanted * 100},
                                    {"per_cent", spread_json(verdict.share, 100)},
                                    {"us_more", spread_json(verdict.beyond, micro)},
                                    {"reached", verdict.reached()}});
  }
  return document;
}

std::string price_text(const PriceOptions& options, const std::vector<Price>& prices) {
  std::string text =
      line("# rondo_price, rondo %s: %d processes; medians of %d rounds, quartiles in brackets",
           version(), options.ranks, options.rounds) +
      line("#%9s  %-14s %12s %12s %9s", "size", "all_reduce", "by hand us", "executor us", "price");
  for (const Price& price : prices) text += price_row(price);
  const auto over =
      std::count_if(prices.begin(), prices.end(), [](const Price& price) { return !price.met(); });
  return text + "# " + std::to_string(over) + " over the limit\n";
}

Json price_json(const PriceOptions& options, const std::vector<Price>& prices) {
  Json document{{"rondo_version", version()},
                {"ranks", options.ranks},
                {"rounds", options.rounds},
                {"prices", Json::array()}};
  for (const Price& price : prices) {
    document["prices"].push_back(
        {{"bytes", price.by_hand.bytes},
         {"transport", price.transport},
         {"algorithm", price.algorithm},
         {"by_hand_us", spread_json(price.by_hand.seconds(), micro)},
         {"by_executor_us", spread_json(price.by_executor.seconds(), micro)},
         {"price_per_cent", spread_json(price.price(), 100)},
         {"allowed_per_cent", price.allowed() ? Json(*price.allowed() * 100) : Json(nullptr)},
         {"met", price.met()}});
  }
  return document;
}

}  // namespace rondo::bench
