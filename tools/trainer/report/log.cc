#include "tools/trainer/report/log.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "rondo/error.h"
#include "tools/trainer/report/plot.h"

namespace rondo::train {
namespace {

std::string unfinished(const std::string& path) { return path + ".unfinished"; }

[[noreturn]] void cannot_write(const std::string& path) {
  std::remove(unfinished(path).c_str());
  throw Error(ErrorCode::system, "cannot write " + path,
              {.remedy = "a folder that exists, may be written to and is not full"});
}

}  // namespace

void write_csv(std::ostream& out, const std::vector<StepRecord>& steps) {
  out << "step,loss,validation,norm,rate,loss_scale,skipped";
  for (const auto name : phase_names) out << "," << name << "_s";
  out << ",messages,payload_bytes,header_bytes\n";
  out.precision(9);
  for (const StepRecord& step : steps) {
    out << step.step << "," << step.loss << ",";
    if (step.validation) out << *step.validation;
    out << "," << step.norm << "," << step.rate << "," << step.loss_scale << ","
        << (step.skipped ? 1 : 0);
    for (const double seconds : step.phases) out << "," << seconds;
    out << "," << step.traffic.messages << "," << step.traffic.payload_bytes << ","
        << step.traffic.header_bytes << "\n";
  }
}

void write_json(std::ostream& out, const RunRecord& run, const std::vector<StepRecord>& steps) {
  using Json = nlohmann::ordered_json;
  Json json{{"ranks", run.ranks},
            {"strategy", run.strategy},
            {"parameters", run.parameters},
            {"targets_per_step", run.targets_per_step},
            {"settings", Json::parse(run.settings)},
            {"steps", Json::array()}};
  for (const StepRecord& step : steps) {
    Json row{{"step", step.step}, {"loss", step.loss}};
    if (step.validation) row["validation"] = *step.validation;
    row["norm"] = std::isfinite(step.norm) ? Json(step.norm) : Json(nullptr);
    row["rate"] = step.rate;
    row["loss_scale"] = step.loss_scale;
    row["skipped"] = step.skipped;
    for (std::size_t i = 0; i < phase_names.size(); ++i) {
      row["seconds"][std::string(phase_names[i])] = step.phases[i];
    }
    row["messages"] = step.traffic.messages;
    row["payload_bytes"] = step.traffic.payload_bytes;
    row["header_bytes"] = step.traffic.header_bytes;
    json["steps"].push_back(row);
  }
  out << json.dump(1) << "\n";
}

void try_report(const std::string& path) {
  std::ofstream out(unfinished(path), std::ios::binary);
  std::error_code ignored;
  if (!out || std::filesystem::is_directory(path, ignored)) cannot_write(path);
  out.close();
  std::remove(unfinished(path).c_str());
}

void write_report(const std::string& path, const RunRecord& run,
                  const std::vector<StepRecord>& steps) {
  std::ofstream out(unfinished(path), std::ios::binary);
  if (path.ends_with(".csv")) {
    write_csv(out, steps);
  } else if (path.ends_with(".json")) {
    write_json(out, run, steps);
  } else {
    out << plot_svg(run, steps);
  }
  out.close();
  if (!out || std::rename(unfinished(path).c_str(), path.c_str()) != 0) cannot_write(path);
}

}  // namespace rondo::train
