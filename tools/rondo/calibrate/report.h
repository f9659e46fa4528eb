// What `rondo calibrate` prints.
#pragma once

#include <string>
#include <vector>

#include "tools/rondo/calibrate/measure.h"

namespace rondo::tool {

std::string link_text(const LinkProfile& link);
std::string gammas_text(const std::vector<GammaProfile>& gammas);

/// One all_reduce beside its prediction.
struct CheckRow {
  std::string transport{};
  int ranks = 2;
  std::string algorithm{};
  double bytes = 0;
  std::string way{};
  std::string formula{};      ///< the formula with the constants of all rounds
  bench::Spread predicted{};  ///< seconds, by the constants of a round
  bench::Spread measured{};
  bench::Spread ratio{};  ///< predicted to measured, within a round

  double difference() const { return ratio.median - 1; }
};

/// Each call beside the prediction from the constants of its own round.
std::vector<CheckRow> check_rows(const LinkMeasurement& measurement);

/// How far an algorithm's predictions are off: the median over sizes from 64 KiB on.
struct CheckVerdict {
  std::string transport{};
  int ranks = 2;
  std::string algorithm{};
  double off = 0;
};
std::vector<CheckVerdict> verdicts_of(const std::vector<CheckRow>& rows);

std::string check_text(const std::vector<CheckRow>& rows);
std::string verdicts_text(const std::vector<CheckVerdict>& verdicts, double limit);

}  // namespace rondo::tool
