// For any prices of the resources, no trees load the network less than the cheapest trees cost, divided
// by the sum of the prices. Good prices are those of a good packing: high where it loads much. So each
// demand in turn moves a part of its bytes to the cheapest tree, which makes prices, and so on
// (Frank and Wolfe's method, block by block).
#include "tools/rondo/synthesize/bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::tool {
namespace {

constexpr double close_enough = 1.02;
constexpr int most_sweeps = 5000;
constexpr double most_work = 4e9;    ///< looks at an edge, about
constexpr double work_of_edge = 30;  ///< of a tree that is looked for
constexpr int sweeps_to_a_check = 4;
constexpr double first_sharpness = 4;

class Relaxation {
 public:
  Relaxation(const Network& network, const std::vector<Demand>& demands)
      : network_(network), sum_(at(network.resources())), mean_(sum_.size()) {
    for (const Demand& demand : demands) {
      cargos_.push_back({demand.direction, demand.share});
      roots_.push_back(std::max(demand.root, 0));
      loads_.emplace_back(sum_.size());
    }
  }

  Bound run() {
    const double edges = static_cast<double>(cargos_.size()) * network_.ranks() * network_.ranks();
    const int sweeps = std::clamp(static_cast<int>(most_work / (edges * work_of_edge)),
                                  2 * sweeps_to_a_check, most_sweeps);
    for (sweep_ = 0; sweep_ < sweeps; ++sweep_) {
      for (std::size_t demand = 0; demand < cargos_.size(); ++demand) move(demand);
      bound_.reached = sweep_ == 0 ? largest(sum_) : std::min(bound_.reached, largest(sum_));
      remember(prices());
      if (sweep_ % sweeps_to_a_check == 0) check();
      if (bound_.reached <= bound_.at_least * close_enough) break;
    }
    return bound_;
  }

 private:
  /// Of resources that nothing loads now, 0.
  Loads prices() const {
    const double sharpness = first_sharpness + sweep_ / 30.0;  // faster, and prices swing
    const double most = largest(sum_);
    Loads all(sum_.size());
    for (std::size_t resource = 0; resource < all.size(); ++resource)
      if (sum_[resource] > 0) all[resource] = std::exp(sharpness * (sum_[resource] / most - 1));
    return all;
  }

  Tree cheapest(std::size_t demand, const PairTable& table) const {
    return cheapest_tree(table, roots_[demand]);
  }

  /// A part of the demand's bytes goes to the tree that is cheapest now.
  void move(std::size_t demand) {
    const bool first = sweep_ == 0;
    const Tree tree =
        cheapest(demand, prices_of(network_, cargos_[demand], first ? first_prices() : prices()));
    const double part = 2 / (sweep_ + 2.0);
    Loads& own = loads_[demand];
    for (std::size_t resource = 0; resource < own.size(); ++resource) {
      sum_[resource] -= part * own[resource];
      own[resource] *= 1 - part;
    }
    Loads moved(own.size());
    add_load(network_, cargos_[demand], tree, moved, part);
    for (std::size_t resource = 0; resource < own.size(); ++resource) {
      own[resource] += moved[resource];
      sum_[resource] = std::max(0.0, sum_[resource] + moved[resource]);
    }
  }

  /// What there is so far, and all alike a little: so no resource is free.
  Loads first_prices() const {
    const double most = largest(sum_);
    Loads all(sum_.size(), 1e-3);
    if (most > 0)
      for (std::size_t resource = 0; resource < all.size(); ++resource)
        all[resource] += sum_[resource] / most;
    return all;
  }

  /// Prices swing with every move; their mean settles. The last ones count most.
  void remember(const Loads& now) {
    const double sum = std::accumulate(now.begin(), now.end(), 0.0);
    const double part = 3 / (sweep_ + 3.0);
    for (std::size_t resource = 0; resource < now.size(); ++resource)
      mean_[resource] = (1 - part) * mean_[resource] + part * now[resource] / sum;
  }

  /// The bound that the mean prices prove. Their sum is 1.
  void check() {
    double cost = 0;
    for (std::size_t demand = 0; demand < cargos_.size(); ++demand) {
      const PairTable table = prices_of(network_, cargos_[demand], mean_);
      cost += price_of(table, cheapest(demand, table));
    }
    bound_.at_least = std::max(bound_.at_least, cost);
  }

  const Network& network_;
  std::vector<Cargo> cargos_{};  ///< by demand
  std::vector<int> roots_{};
  std::vector<Loads> loads_{};
  Loads sum_;   ///< of all
  Loads mean_;  ///< prices
  int sweep_ = 0;
  Bound bound_{};
};

}  // namespace

Bound bound_of_trees(const Network& network, const std::vector<Demand>& demands) {
  return Relaxation(network, demands).run();
}

}  // namespace rondo::tool
