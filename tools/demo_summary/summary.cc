#include "tools/demo_summary/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "rondo/error.h"

namespace rondo::demo {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
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
  const auto verdict = sweep.wrong == 0 ? "every element was checked, 0 wrong"
                                        : std::to_string(sweep.wrong) + " ELEMENTS WERE WRONG";
  return "What ran    " + std::to_string(sweep.ranks) + " ranks (processes) on this machine of " +
         std::to_string(cores) + " cores summed their buffers\n            (all-reduce, " +
         sweep.type + ", " + sweep.reduction + ") at sizes from " +
         human_bytes(sweep.rows.front().bytes) + " to " + human_bytes(sweep.rows.back().bytes) +
         ";\n            " + verdict + ".\n";
}

std::string table(const Sweep& sweep) {
  std::string text =
      "How fast          size        time   algbw GB/s   busbw GB/s   chosen, and why\n";
  for (const auto& row : sweep.rows) {
    text += "            " + padded(human_bytes(row.bytes), 10) +
            padded(human_time(row.microseconds), 12) + padded(fixed(row.algbw, 3), 13) +
            padded(fixed(row.busbw, 3), 13) + "   " + row.choice + "\n";
  }
  return text +
         "            algbw = size / time; busbw = algbw x 2(ranks-1)/ranks, what each rank's "
         "link carries.\n";
}

// No all-reduce can beat every rank writing its own result once: that is the limit.
std::string copy_limit(const Sweep& sweep) {
  const auto& largest = sweep.rows.back();
  const double seconds = largest.microseconds * 1e-6;
  return "Copy limit  Merely copying " + human_bytes(largest.bytes) + " on all " +
         std::to_string(sweep.ranks) + " ranks at once takes " +
         human_time(sweep.copy_seconds * 1e6) + " here\n            (" +
         fixed(static_cast<double>(largest.bytes) / sweep.copy_seconds * 1e-9, 2) +
         " GB/s a rank). The all-reduce of that size took " + human_time(largest.microseconds) +
         ": " + fixed(seconds / sweep.copy_seconds, 1) + " copies,\n            " +
         fixed(100 * sweep.copy_seconds / seconds, 0) + " % of the memory-copy limit.\n";
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
      throw Error(ErrorCode::invalid_argument, "the benchmark's report holds no results");
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
  auto text = what_ran(sweep, cores) + table(sweep);
  if (sweep.copy_seconds > 0) text += copy_limit(sweep);
  return text;
}

}  // namespace rondo::demo
