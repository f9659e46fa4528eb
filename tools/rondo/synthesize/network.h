// The network as the search for schedules sees it: resources that take so many seconds a byte, and
// which of them a message between two ranks occupies. The simulator's clock has the same ones.
#pragma once

#include <span>
#include <vector>

#include "core/topology/topology.h"

namespace rondo::tool {

/// A rank's, resource's or message's place in a vector.
constexpr std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// Seconds, by pair of ranks: from, then to.
class PairTable {
 public:
  explicit PairTable(int ranks) : ranks_(ranks), all_(tool::at(ranks) * tool::at(ranks)) {}
  double& at(int from, int to) { return all_[index(from, to)]; }
  double at(int from, int to) const { return all_[index(from, to)]; }
  int ranks() const { return ranks_; }

 private:
  std::size_t index(int from, int to) const {
    return tool::at(from) * tool::at(ranks_) + tool::at(to);
  }

  int ranks_;
  std::vector<double> all_;
};

class Network {
 public:
  /// Throws Error{invalid_argument} if the fabric does not fit the hosts.
  explicit Network(const Topology& topology);

  int ranks() const { return ranks_; }
  int resources() const { return static_cast<int>(betas_.size()); }
  /// Seconds a byte.
  double beta(int resource) const { return betas_[at(resource)]; }
  /// What a message occupies: links between hosts, or the two ranks' memory inside one.
  std::span<const int> crossed(int from, int to) const {
    return crossed_[at(from) * at(ranks_) + at(to)];
  }
  double alpha(int from, int to) const { return alphas_.at(from, to); }
  /// Seconds that a message of so many bytes takes on its way.
  double seconds(int from, int to, double bytes) const;

 private:
  int ranks_;
  std::vector<double> betas_{};
  std::vector<std::vector<int>> crossed_{};  ///< by sender, then receiver
  PairTable alphas_;
};

}  // namespace rondo::tool
