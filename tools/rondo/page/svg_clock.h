// When the parts of an animated picture show and move: CSS key frames, shared by all that show at
// the same time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/rondo/explain/explain.h"

namespace rondo::tool {

class SvgClock {
 public:
  explicit SvgClock(const std::vector<ExplainedRound>& rounds);

  /// Seconds at which a round begins; of as many as there are rounds: at which the last one ends.
  double begins(std::size_t round) const { return begins_[round]; }
  /// When its messages are there.
  double arrives(std::size_t round) const { return begins_[round] + 0.78 * length_; }

  /// The class of what shows between two times; negative: from the start, or to the end.
  std::string shown(double from, double to);
  /// The class of what ranks hold after `begin` rounds, until `end` rounds have passed.
  std::string held(std::size_t begin, std::size_t end);
  /// The class of a round's messages, which go from translation --a to translation --b.
  std::string moves(std::size_t round);

  /// The rules of all classes so far. Where a reader wants no motion, they show the end.
  const std::string& rules() const { return rules_; }

 private:
  std::string percent(double time) const;
  void add_rule(const std::string& of, const std::string& frames);

  double length_;  ///< of a round, in seconds
  double seconds_ = 0;
  std::vector<double> begins_{};
  std::map<std::pair<double, double>, std::string> shown_{};
  std::string rules_{};
};

}  // namespace rondo::tool
