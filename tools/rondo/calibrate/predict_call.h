// The time of an all_reduce on one machine, from a profile. For a call by messages the simulator
// runs the schedule. On the direct path the time is that of fetching and reducing.
#pragma once

#include <memory>
#include <string>

#include "core/plan/prepared.h"
#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

struct CallPrediction {
  double seconds = 0;
  std::string way{};      ///< "ring in 4 slices", "direct (two_shot)"
  std::string formula{};  ///< the formula with this call's numbers put in
};

/// All_reduces of one algorithm and size, float32, sum. The path is decided once. The time can be
/// predicted from the constants of any round.
class AllReduceModel {
 public:
  /// Uses no constants of `link`. `algorithm`: a name, or "default" for the choice for a program
  /// that forces nothing.
  AllReduceModel(const LinkProfile& link, const std::string& algorithm, double bytes);

  /// `direct`: the part of the payload that moved directly, where only some calls look for windows.
  CallPrediction predict(const LinkProfile& link, double direct) const;

 private:
  std::shared_ptr<const PreparedCall> prepared_;
  double bytes_;
};

}  // namespace rondo::tool
