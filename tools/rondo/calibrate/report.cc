#include "tools/rondo/calibrate/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/predict_call.h"

namespace rondo::tool {
namespace {

constexpr double least_judged = 64 << 10;  ///< bytes: below it calls are latency and little else
constexpr std::size_t line_bytes = 256;

template <class... Values>
std::string format(const char* form, Values... values) {
  std::array<char, line_bytes> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

double micro(double seconds) { return seconds * 1e6; }

std::string spread(const bench::Spread& of) {
  return format("%.3f [%.3f..%.3f]", micro(of.median), micro(of.low), micro(of.high));
}

}  // namespace

std::string link_text(const LinkProfile& link) {
  std::string text =
      format("\n%s, %d ranks on %d cores%s: alpha %s us\n", link.transport.c_str(), link.ranks,
             link.cores, link.crowded() ? " (shared)" : "", spread(link.alpha).c_str());
  if (!link.fetch.empty())
    text += "shortest call of the direct way: " + spread(link.meeting) + " us\n";
  text +=
      format("  %10s %28s %28s %8s %8s\n", "bytes", "one way us", "exchange us", "copy", "fetch");
  for (std::size_t i = 0; i < link.exchange.size(); ++i) {
    const double bytes = link.exchange[i].bytes;
    text +=
        format("  %10s %28s %28s %8.4f %8.4f\n", bytes_text(bytes).c_str(),
               spread(link.one_way[i].seconds).c_str(), spread(link.exchange[i].seconds).c_str(),
               link.copy(bytes) * 1e9, link.fetched(bytes) * 1e9);
  }
  return text + "  (copy, fetch: processor's ns a byte; quartiles in brackets)\n";
}

std::string gammas_text(const std::vector<GammaProfile>& gammas) {
  if (gammas.empty()) return {};
  std::string text = "\ngamma, ns a byte that combining adds to copying, by bytes of a vector\n  ";
  text += format("%-14s %-5s", "type", "op");
  for (const Knot& knot : gammas.front().reduces)
    text += format(" %9s", bytes_text(knot.bytes).c_str());
  for (const GammaProfile& gamma : gammas) {
    text += format("\n  %-14s %-5s", std::string(name(gamma.type)).c_str(),
                   std::string(name(gamma.op)).c_str());
    for (const Knot& knot : gamma.reduces) text += format(" %9.4f", gamma.gamma(knot.bytes) * 1e9);
  }
  return text + "\n";
}

std::vector<CheckRow> check_rows(const LinkMeasurement& measurement) {
  std::vector<CheckRow> rows;
  for (const Checked& checked : measurement.checked) {
    const CallPrediction predicted =
        predict_all_reduce(measurement.link, measurement.gamma, checked.algorithm, checked.bytes);
    rows.push_back({measurement.link.transport, measurement.link.ranks, checked, predicted.way,
                    predicted.formula, predicted.seconds});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CheckRow& a, const CheckRow& b) {
    return a.measured.algorithm < b.measured.algorithm;
  });
  return rows;
}

std::vector<CheckVerdict> verdicts_of(const std::vector<CheckRow>& rows) {
  std::vector<CheckVerdict> verdicts;
  for (std::size_t i = 0; i < rows.size();) {
    const CheckRow& first = rows[i];
    std::vector<double> off;
    for (; i < rows.size() && rows[i].measured.algorithm == first.measured.algorithm; ++i) {
      if (rows[i].measured.bytes >= least_judged) off.push_back(std::abs(rows[i].difference()));
    }
    if (!off.empty())
      verdicts.push_back(
          {first.transport, first.ranks, first.measured.algorithm, bench::spread_of(off).median});
  }
  return verdicts;
}

std::string check_text(const std::vector<CheckRow>& rows) {
  if (rows.empty()) return {};
  std::string text =
      format("\nall_reduce, float32 sum, over %s, %d ranks\n  %-18s %10s %14s %26s %8s  %-24s %s\n",
             rows.front().transport.c_str(), rows.front().ranks, "algorithm", "size",
             "predicted us", "measured us", "off", "way", "constants");
  for (const CheckRow& row : rows)
    text += format("  %-18s %10s %14.2f %26s %+7.1f%%  %-24s ", row.measured.algorithm.c_str(),
                   bytes_text(row.measured.bytes).c_str(), micro(row.predicted),
                   spread(row.measured.seconds).c_str(), 100 * row.difference(), row.way.c_str()) +
            row.formula + "\n";
  return text;
}

std::string verdicts_text(const std::vector<CheckVerdict>& verdicts, double limit) {
  std::string text = "\nMedian over sizes from 64 KiB on of how far predictions are off:\n";
  for (const CheckVerdict& verdict : verdicts)
    text += format("  %-4s %d ranks  %-18s %5.1f %%  %s\n", verdict.transport.c_str(),
                   verdict.ranks, verdict.algorithm.c_str(), 100 * verdict.off,
                   100 * verdict.off <= limit ? "within" : "OFF");
  return text;
}

nlohmann::ordered_json check_json(const std::vector<CheckRow>& rows) {
  auto json = nlohmann::ordered_json::array();
  for (const CheckRow& row : rows)
    json.push_back({{"transport", row.transport},
                    {"ranks", row.ranks},
                    {"algorithm", row.measured.algorithm},
                    {"bytes", row.measured.bytes},
                    {"way", row.way},
                    {"formula", row.formula},
                    {"described", row.measured.how},
                    {"predicted_us", micro(row.predicted)},
                    {"measured_us", micro(row.measured.seconds.median)},
                    {"low_us", micro(row.measured.seconds.low)},
                    {"high_us", micro(row.measured.seconds.high)},
                    {"difference", row.difference()}});
  return json;
}

}  // namespace rondo::tool
