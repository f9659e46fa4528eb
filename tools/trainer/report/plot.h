// The plot of a run: the loss, and where the time of the steps went.
#pragma once

#include <string>
#include <vector>

#include "tools/trainer/report/record.h"

namespace rondo::train {

/// A complete SVG document, readable on light and dark pages.
std::string plot_svg(const RunRecord& run, const std::vector<StepRecord>& steps);

}  // namespace rondo::train
