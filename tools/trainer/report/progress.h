// The output while training goes on.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// The line before the first step.
std::string headline(const RunRecord& run);
/// Call it after every step, with all steps so far: every twentieth of them writes a line.
void show_progress(std::ostream& out, const RunRecord& run, const std::vector<StepRecord>& steps);
/// The lines after the last step, or that all steps had been done before.
std::string summary(const RunRecord& run, const std::vector<StepRecord>& steps,
                    const Ledger& memory);

/// "1:05" or "2:03:09".
std::string clock_text(double seconds);
/// "950", "41.2k", "3.1M".
std::string count_text(double count);

}  // namespace rondo::train
