#include "bench/price/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/common/size.h"
#include "rondo/rondo.h"

namespace rondo::bench {
namespace {

constexpr double micro = 1e6;
constexpr std::size_t smallest = 8;
constexpr std::size_t large = std::size_t{64} << 10;

std::string row(const Price& row) {
  const Spread price = row.price();
  std::string verdict;
  if (row.allowed())
    verdict = (row.met() ? "within " : "OVER ") +
              std::to_string(static_cast<int>(*row.allowed() * 100)) + "%";
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                " %9s  %-4s %-9s %12.3f %12.3f %+8.1f%% [%+.1f..%+.1f]  %s\n",
                format_size(row.bytes).c_str(), row.transport.c_str(), row.algorithm.c_str(),
                spread_of(row.by_hand).median * micro, spread_of(row.by_executor).median * micro,
                price.median * 100, price.low * 100, price.high * 100, verdict.c_str());
  return text.data();
}

nlohmann::ordered_json spread_json(const Spread& spread, double factor) {
  return {{"low", spread.low * factor},
          {"median", spread.median * factor},
          {"high", spread.high * factor}};
}

}  // namespace

Spread Price::price() const {
  const Spread ratio = ratio_spread(by_executor, by_hand);
  return {ratio.low - 1, ratio.median - 1, ratio.high - 1};
}

std::optional<double> Price::allowed() const {
  if (bytes >= large) return 0.10;
  if (bytes <= smallest) return 0.25;
  return std::nullopt;
}

std::string price_text(const PriceOptions& options, const std::vector<Price>& prices) {
  std::array<char, 256> text{};
  std::snprintf(
      text.data(), text.size(),
      "# rondo_price, rondo %s: %d processes; medians of %d rounds, quartiles in brackets\n"
      "#%9s  %-14s %12s %12s %9s\n",
      version(), options.ranks, options.rounds, "size", "all_reduce", "by hand us", "executor us",
      "price");
  std::string lines = text.data();
  for (const Price& price : prices) lines += row(price);
  const auto over =
      std::count_if(prices.begin(), prices.end(), [](const Price& p) { return !p.met(); });
  return lines + "# " + std::to_string(over) + " over the limit\n";
}

nlohmann::ordered_json price_json(const PriceOptions& options, const std::vector<Price>& prices) {
  using Json = nlohmann::ordered_json;
  Json document{{"rondo_version", version()},
                {"ranks", options.ranks},
                {"rounds", options.rounds},
                {"prices", Json::array()}};
  for (const Price& price : prices) {
    document["prices"].push_back(
        {{"bytes", price.bytes},
         {"transport", price.transport},
         {"algorithm", price.algorithm},
         {"by_hand_us", spread_json(spread_of(price.by_hand), micro)},
         {"by_executor_us", spread_json(spread_of(price.by_executor), micro)},
         {"price_per_cent", spread_json(price.price(), 100)},
         {"allowed_per_cent", price.allowed() ? Json(*price.allowed() * 100) : Json(nullptr)},
         {"met", price.met()}});
  }
  return document;
}

}  // namespace rondo::bench
