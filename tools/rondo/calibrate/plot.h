// A profile as a picture: samples with their quartiles, and the fits through them.
#pragma once

#include <string>

#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

/// The beta of the straight line alpha + n beta that has the least relative distance from the
/// medians of a curve.
double straight_beta(const Curve& curve, double alpha);

/// An SVG document with a panel for each link and one for reductions. All axes are logarithmic.
std::string plot_svg(const Profile& profile);

}  // namespace rondo::tool
