#include "tools/trainer/report/rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rondo::train {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_columns() {
  std::string columns = "step,loss,validation,norm,rate,loss_scale,skipped";
  for (const auto name : phase_names) columns += "," + std::string(name) + "_s";
  return columns + ",messages,payload_bytes,header_bytes";
}

std::string csv_row(const StepRecord& step) {
  std::ostringstream out;
  out.precision(9);
  out << step.step << "," << step.loss << ",";
  if (step.validation) out << *step.validation;
  out << "," << step.norm << "," << step.rate << "," << step.loss_scale << ","
      << (step.skipped ? 1 : 0);
  for (const double seconds : step.phases) out << "," << seconds;
  out << "," << step.traffic.messages << "," << step.traffic.payload_bytes << ","
      << step.traffic.header_bytes;
  return out.str();
}

std::optional<std::size_t> csv_step(const std::string& line) {
  std::size_t step = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), step);
  if (parsed.ec != std::errc() ||
      std::ranges::count(line, ',') != std::ranges::count(csv_columns(), ','))
    return std::nullopt;
  return step;
}

/// JSON knows no infinity.
Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string json_row(const StepRecord& step) {
  Json row{{"step", step.step}, {"loss", step.loss}};
  if (step.validation) row["validation"] = *step.validation;
  row["norm"] = json_number(step.norm);
  row["rate"] = step.rate;
  row["loss_scale"] = step.loss_scale;
  row["skipped"] = step.skipped;
  for (std::size_t i = 0; i < phase_names.size(); ++i)
    row["seconds"][std::string(phase_names[i])] = step.phases[i];
  row["messages"] = step.traffic.messages;
  row["payload_bytes"] = step.traffic.payload_bytes;
  row["header_bytes"] = step.traffic.header_bytes;
  return "  " + row.dump();
}

std::optional<std::size_t> json_step(const std::string& line) {
  const Json row = Json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("step") || !row.at("step").is_number_unsigned())
    return std::nullopt;
  return row.at("step").get<std::size_t>();
}

}  // namespace

LogForm csv_form() {
  return {.head = csv_columns() + "\n",
          .between = "",
          .tail = "",
          .row = [](const StepRecord& step) { return csv_row(step) + "\n"; },
          .step_of = &csv_step,
          .begins = [](const std::string& line) { return line == csv_columns(); },
          .ends = [](const std::string& line) { return line.empty(); }};
}

LogForm json_form(const RunRecord& run, std::size_t resumed) {
  Json head{{"ranks", run.ranks},
            {"strategy", run.strategy},
            {"parameters", run.parameters},
            {"targets_per_step", run.targets_per_step},
            {"settings", Json::parse(run.settings)}};
  if (resumed > 0) head["resumed_at"] = resumed;
  std::string text = head.dump(1);
  text.resize(text.rfind('\n'));  // without the closing brace
  return {.head = text + ",\n \"steps\": [\n",
          .between = ",\n",
          .tail = "\n ]\n}\n",
          .row = &json_row,
          .step_of = &json_step,
          .begins = [](const std::string& line) { return line == " \"steps\": ["; },
          .ends = [](const std::string& line) { return line.starts_with(" ]"); }};
}

std::string json_tail(const std::vector<ValidationRow>& rows) {
  std::string text = "\n ],\n \"formulas\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ValidationRow& row = rows[i];
    const Json json{{"what", row.what},
                    {"formula", row.formula},
                    {"predicted", json_number(row.predicted)},
                    {"measured", json_number(row.measured)},
                    {"unit", row.unit},
                    {"off_per_cent", json_number(row.difference())}};
    text += (i == 0 ? "\n  " : ",\n  ") + json.dump();
  }
  return text + "\n ]\n}\n";
}

std::optional<std::vector<std::string>> rows_up_to(const std::string& file, const LogForm& form,
                                                   std::size_t last) {
  std::istringstream lines(file);
  std::string line;
  do {
    if (!std::getline(lines, line)) return std::nullopt;
  } while (!form.begins(line));
  std::vector<std::string> rows;
  while (std::getline(lines, line)) {
    const bool cut_off = lines.eof();  // a line that lacks its end
    if (cut_off || form.ends(line)) break;
    if (!form.between.empty() && line.ends_with(",")) line.pop_back();
    const auto step = form.step_of(line);
    if (!step) return std::nullopt;
    if (*step > last) break;
    rows.push_back(line + (form.between.empty() ? "\n" : ""));
  }
  return rows;
}

}  // namespace rondo::train
