// The time of an all_reduce on one machine, from a profile: by messages the simulator runs the very
// schedule; the direct way is what it fetches and combines.
#pragma once

#include <memory>
#include <string>

#include "core/plan/prepared.h"
#include "tools/rondo/calibrate/profile.h"

namespace rondo::tool {

struct CallPrediction {
  double seconds = 0;
  std::string way{};      ///< "ring in 4 slices", "direct (two_shot)"
  std::string formula{};  ///< with this call's numbers put in
};

/// All_reduces of one algorithm and size, float32, sum: decided once, predicted from the constants
/// of any round.
class AllReduceModel {
 public:
  /// `link`: only whose it is. `algorithm`: a name, or "default" for what a program gets that
  /// forces nothing.
  AllReduceModel(const LinkProfile& link, const std::string& algorithm, double bytes);

  /// `direct`: the part of its payload that moved directly, where calls find out for themselves
  /// which way is faster.
  CallPrediction predict(const LinkProfile& link, double direct) const;

 private:
  std::shared_ptr<const PreparedCall> prepared_;
  double bytes_;
};

}  // namespace rondo::tool
