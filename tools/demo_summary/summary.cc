#include "tools/demo_summary/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "rondo/error.h"

namespace rondo::demo {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string human_time(double microseconds) {
  if (microseconds < 1e3) return fixed(microseconds, 1) + " us";
  if (microseconds < 1e6) return fixed(microseconds / 1e3, 2) + " ms";
  return fixed(microseconds / 1e6, 2) + " s";
}

Row read_row(const nlohmann::json& result) {
  const auto& outer = result.at("out_of_place");
  const auto& inner = result.at("in_place");
  const auto& better =
      inner.at("time").get<double>() < outer.at("time").get<double>() ? inner : outer;
  return {.bytes = result.at("size").get<std::size_t>(),
          .microseconds = better.at("time").get<double>(),
          .algbw = better.at("alg_bw").get<double>(),
          .busbw = better.at("bus_bw").get<double>()};
}

std::string what_ran(const Sweep& sweep, unsigned cores) {
  const auto verdict = sweep.wrong == 0 ? "Every element was checked: 0 wrong."
                                        : std::to_string(sweep.wrong) + " ELEMENTS WERE WRONG.";
  return "What ran    all-reduce (" + sweep.type + ", " + sweep.reduction + ") on " +
         std::to_string(sweep.ranks) + " ranks (processes) and " + std::to_string(cores) +
         " cores, " + human_bytes(sweep.rows.front().bytes) + " to " +
         human_bytes(sweep.rows.back().bytes) + "\n            " + verdict + "\n";
}

/// The first words: "ring over shm" from "ring over shm in 8 passes of 65536 B a chunk (...)".
std::string_view algorithm_and_transport(const Row& row) {
  std::size_t end = 0;
  for (int word = 0; word < 3 && end != std::string::npos; ++word) {
    end = row.choice.find(' ', end == 0 ? 0 : end + 1);
  }
  return std::string_view(row.choice).substr(0, end);
}

std::string between(const std::string& first, const std::string& last) {
  return first == last ? first : first + " to " + last;
}

/// The text for neighbouring sizes with the same choice. Not empty.
std::string group_text(std::span<const Row> group) {
  const Row& first = group.front();
  const Row& last = group.back();
  const auto busbw = [](const Row& a, const Row& b) { return a.busbw < b.busbw; };
  const Row& best = *std::max_element(group.begin(), group.end(), busbw);
  return "            " + between(human_bytes(first.bytes), human_bytes(last.bytes)) + ": " +
         first.choice + "\n              " +
         between(human_time(first.microseconds), human_time(last.microseconds)) + "; best at " +
         human_bytes(best.bytes) + ": algbw " + fixed(best.algbw, 2) + " GB/s, busbw " +
         fixed(best.busbw, 2) + " GB/s\n";
}

std::string choices(const Sweep& sweep) {
  std::string text = "Chosen      for each size: algorithm, transport, (reason), time of a call\n";
  const std::span<const Row> rows = sweep.rows;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const auto same = algorithm_and_transport(rows[begin]);
    while (end < rows.size() && algorithm_and_transport(rows[end]) == same) ++end;
    text += group_text(rows.subspan(begin, end - begin));
  }
  return text +
         "            algbw = size / time. busbw = algbw x 2(ranks-1)/ranks: the load on each "
         "rank's link.\n";
}

// The limit: every rank must at least write its own result once.
std::string copy_limit(const Sweep& sweep) {
  const auto& largest = sweep.rows.back();
  const double seconds = largest.microseconds * 1e-6;
  return "Copy limit  " + std::to_string(sweep.ranks) + " ranks that each copy " +
         human_bytes(largest.bytes) + " at the same time take " +
         human_time(sweep.copy_seconds * 1e6) + " (" +
         fixed(static_cast<double>(largest.bytes) / sweep.copy_seconds * 1e-9, 2) +
         " GB/s each).\n            The all-reduce of this size takes " +
         human_time(largest.microseconds) + ": " + fixed(seconds / sweep.copy_seconds, 1) +
         " times as long, " + fixed(100 * sweep.copy_seconds / seconds, 0) +
         " % of the copy speed.\n";
}

}  // namespace

Sweep read_report(std::string_view json, int ranks) {
  try {
    const auto report = nlohmann::json::parse(json);
    Sweep sweep{.ranks = ranks};
    for (const auto& result : report.at("results")) {
      sweep.type = result.at("type").get<std::string>();
      sweep.reduction = result.at("redop").get<std::string>();
      sweep.rows.push_back(read_row(result));
    }
    sweep.wrong = report.at("out_of_bounds").at("count").get<std::size_t>();
    if (sweep.rows.empty()) {
      throw Error(ErrorCode::invalid_argument, "the benchmark's report has no results");
    }
    return sweep;
  } catch (const nlohmann::json::exception& failure) {
    throw Error(ErrorCode::invalid_argument,
                std::string("the benchmark's report cannot be read: ") + failure.what());
  }
}

std::string human_bytes(std::size_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<std::size_t>(value));
  return fixed(value, whole ? 0 : 1) + " " + units[unit];
}

std::string summary(const Sweep& sweep, unsigned cores) {
  auto text = what_ran(sweep, cores) + choices(sweep);
  if (sweep.copy_seconds > 0) text += copy_limit(sweep);
  return text;
}

}  // namespace rondo::demo
