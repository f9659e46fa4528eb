// Every step in a file: CSV or JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/trainer/report/record.h"

namespace rondo::train {

void write_csv(std::ostream& out, const std::vector<StepRecord>& steps);
void write_json(std::ostream& out, const RunRecord& run, const std::vector<StepRecord>& steps);

/// Throws Error{system} where write_report(path) would, as far as can be known before; what `path`
/// already names stays as it is.
void try_report(const std::string& path);
/// Writes `path` as its ending (.csv, .json, .svg) says, whole or not at all. Throws Error{system}.
void write_report(const std::string& path, const RunRecord& run,
                  const std::vector<StepRecord>& steps);

}  // namespace rondo::train
