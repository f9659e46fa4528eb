// The time of an all_reduce on one machine, from a profile: by messages the simulator runs the very
// schedule; the direct way is what it fetches and combines.
#pragma once

#include <string>

#include "tools/rondo/calibrate/measure.h"
#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

struct CallPrediction {
  double seconds = 0;
  std::string way{};      ///< "ring in 4 slices", "direct (two_shot)"
  std::string formula{};  ///< with this call's numbers put in
};

/// float32, sum. `algorithm`: a name, or "default" for what a program gets that forces nothing.
CallPrediction predict_all_reduce(const LinkProfile& link, const GammaProfile& gamma,
                                  const std::string& algorithm, double bytes);

}  // namespace rondo::tool
