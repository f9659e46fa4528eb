// Steps and losses of trainings, and their comparison.
#pragma once

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::test {

struct Loss {
  std::size_t step = 0;
  double loss = 0;

  friend bool operator==(const Loss&, const Loss&) = default;
};

template <class Record>
std::vector<Loss> losses_of(const std::vector<Record>& steps) {
  std::vector<Loss> losses;
  for (const Record& step : steps) losses.push_back({step.step, step.loss});
  return losses;
}

/// Of a log in JSON, or in CSV, whose first two columns they are. There a last line that lacks its end
/// is no row.
inline std::vector<Loss> losses_in(const std::string& log) {
  std::vector<Loss> losses;
  if (log.starts_with("{")) {
    const auto json = nlohmann::json::parse(log);
    for (const auto& row : json.at("steps")) losses.push_back({row.at("step"), row.at("loss")});
    return losses;
  }
  std::istringstream lines(log);
  std::string line;
  std::getline(lines, line);  // names of columns
  while (std::getline(lines, line) && !lines.eof()) {
    Loss row;
    char comma = ' ';
    std::istringstream(line) >> row.step >> comma >> row.loss;
    losses.push_back(row);
  }
  return losses;
}

/// Empty if steps and losses are the same, up to rounding. Else says where they differ.
inline std::string difference(const std::vector<Loss>& losses, const std::vector<Loss>& expected) {
  std::ostringstream words;
  if (losses.size() != expected.size()) words << losses.size() << " for " << expected.size();
  for (std::size_t i = 0; words.str().empty() && i < losses.size(); ++i) {
    const auto& [step, loss] = losses[i];
    const bool close = std::fabs(loss - expected[i].loss) < 1e-5 * expected[i].loss;
    if (step == expected[i].step && close) continue;
    words.precision(12);
    words << "step " << step << ": " << loss << " for " << expected[i].loss << " of step "
          << expected[i].step;
  }
  return words.str();
}

}  // namespace rondo::test
