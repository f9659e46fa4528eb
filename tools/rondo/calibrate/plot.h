// A profile as a picture: samples with their quartiles, and the fits through them.
#pragma once

#include <string>

#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

/// The straight line alpha + n beta that is least off, relatively, from the medians of a curve.
double straight_beta(const Curve& curve, double alpha);

/// An SVG document: a panel for each link and one for reductions, both axes logarithmic.
std::string plot_svg(const Profile& profile);

}  // namespace rondo::tool
