#include "tools/rondo/calibrate/report.h"

#include <algorithm>
#include <cmath>

#include "tools/rondo/calibrate/predict_call.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr double least_judged = 64 << 10;  ///< bytes: shorter calls are little but latency

double in_micro(double seconds) { return seconds * 1e6; }

/// The link without its constants.
LinkProfile bare(const LinkProfile& link) {
  return {
      .transport = link.transport, .ranks = link.ranks, .cores = link.cores, .hosts = link.hosts};
}

std::string spread(const bench::Spread& of) {
  return format("%.3f [%.3f..%.3f]", in_micro(of.median), in_micro(of.low), in_micro(of.high));
}

CheckRow check_row(const LinkMeasurement& measurement, const Samples& samples,
                   const std::string& algorithm) {
  const AllReduceModel model(measurement.link, algorithm, samples.bytes);
  const std::vector<double>& measured = samples.seconds.at(algorithm);
  const std::vector<double>& direct = samples.direct.at(algorithm);
  std::vector<double> predicted;
  for (std::size_t round = 0; round < measured.size(); ++round) {
    const LinkProfile link = constants_of(bare(measurement.link), {&samples, 1}, round);
    predicted.push_back(model.predict(link, direct[round]).seconds);
  }
  const CallPrediction all = model.predict(measurement.link, bench::spread_of(direct).median);
  return {.transport = measurement.link.transport,
          .ranks = measurement.link.ranks,
          .algorithm = algorithm,
          .bytes = samples.bytes,
          .way = all.way,
          .formula = all.formula,
          .predicted = bench::spread_of(predicted),
          .measured = bench::spread_of(measured),
          .ratio = bench::ratio_spread(predicted, measured)};
}

}  // namespace

std::string link_text(const LinkProfile& link) {
  const bool apart = link.hosts > 1;  // then links move the bytes
  std::string text = format("\n%s, %s: alpha %s us\n", link.transport.c_str(), link.where().c_str(),
                            spread(link.alpha).c_str());
  if (!link.fetch.empty())
    text += "shortest call of the direct path: " + spread(link.meeting) + " us\n";
  text += format("  %10s %28s %28s %28s %8s %8s %8s %8s\n", "bytes", "one way us", "exchange us",
                 "combining us", apart ? "beta" : "copy", "combine", "fetch", "and add");
  for (std::size_t i = 0; i < link.exchange.size(); ++i) {
    const double bytes = link.exchange[i].bytes;
    text +=
        format("  %10s %28s %28s %28s %8.4f %8.4f %8.4f %8.4f\n", bytes_text(bytes).c_str(),
               spread(link.one_way[i].seconds).c_str(), spread(link.exchange[i].seconds).c_str(),
               spread(link.combining[i].seconds).c_str(),
               (apart ? link.beta(bytes) : link.copy(bytes)) * 1e9, link.combined(bytes) * 1e9,
               link.fetched(bytes) * 1e9, link.fetched_combined(bytes) * 1e9);
  }
  return text + (apart ? "  (beta, combine: ns a byte; quartiles in brackets)\n"
                       : "  (copy, combine, fetch, and add: processor's ns a byte; quartiles in "
                         "brackets)\n");
}

std::string gammas_text(const std::vector<GammaProfile>& gammas) {
  if (gammas.empty()) return {};
  std::string text =
      "\ngamma: ns a byte that reducing takes more than copying, by bytes of a vector\n  ";
  text += format("%-14s %-7s", "type", "op");
  for (const Knot& knot : gammas.front().reduces)
    text += format(" %9s", bytes_text(knot.bytes).c_str());
  for (const GammaProfile& gamma : gammas) {
    text += format("\n  %-14s %-7s", std::string(name(gamma.type)).c_str(),
                   std::string(name(gamma.op)).c_str());
    for (const Knot& knot : gamma.reduces) text += format(" %9.4f", gamma.gamma(knot.bytes) * 1e9);
  }
  return text + "\n";
}

std::vector<CheckRow> check_rows(const LinkMeasurement& measurement) {
  std::vector<CheckRow> rows;
  for (const std::string& algorithm : measurement.checked) {
    for (const Samples& samples : measurement.samples)
      rows.push_back(check_row(measurement, samples, algorithm));
  }
  return rows;
}

std::vector<CheckVerdict> verdicts_of(const std::vector<CheckRow>& rows) {
  std::vector<CheckVerdict> verdicts;
  for (std::size_t i = 0; i < rows.size();) {
    const CheckRow& first = rows[i];
    std::vector<double> off;
    for (; i < rows.size() && rows[i].algorithm == first.algorithm; ++i) {
      if (rows[i].bytes >= least_judged) off.push_back(std::abs(rows[i].difference()));
    }
    if (!off.empty())
      verdicts.push_back(
          {first.transport, first.ranks, first.algorithm, bench::spread_of(off).median});
  }
  return verdicts;
}

std::string check_text(const std::vector<CheckRow>& rows) {
  if (rows.empty()) return {};
  std::string text = format(
      "\nall_reduce, float32 sum, over %s, %d ranks\n  %-18s %10s %14s %26s %28s  %-24s %s\n",
      rows.front().transport.c_str(), rows.front().ranks, "algorithm", "size", "predicted us",
      "measured us", "off, round by round", "path", "constants");
  for (const CheckRow& row : rows)
    text +=
        format("  %-18s %10s %14.2f %26s %+7.1f%% [%+7.1f..%+7.1f]  %-24s ", row.algorithm.c_str(),
               bytes_text(row.bytes).c_str(), in_micro(row.predicted.median),
               spread(row.measured).c_str(), 100 * row.difference(), 100 * (row.ratio.low - 1),
               100 * (row.ratio.high - 1), row.way.c_str()) +
        row.formula + "\n";
  return text;
}

std::string verdicts_text(const std::vector<CheckVerdict>& verdicts, double limit) {
  std::string text = "\nHow far predictions are off, medians over sizes from 64 KiB on:\n";
  for (const CheckVerdict& verdict : verdicts)
    text += format("  %-4s %d ranks  %-18s %5.1f %%  %s\n", verdict.transport.c_str(),
                   verdict.ranks, verdict.algorithm.c_str(), 100 * verdict.off,
                   100 * verdict.off <= limit ? "within" : "OFF");
  return text;
}

}  // namespace rondo::tool
