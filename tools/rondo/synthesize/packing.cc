// Each tree is the cheapest where prices of resources grow with their load. Then each is taken out and
// put in again, until none finds a better way.
#include "tools/rondo/synthesize/packing.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace rondo::tool {
namespace {

constexpr int most_repairs = 12;
constexpr double sharpness = 12;       ///< the price of a resource is its load to this power
constexpr double most_overload = 1e6;  ///< prices stay finite, whatever resources take

/// Seconds that messages of one piece take, and for how long they hold up their senders.
struct Times {
  Times(const Network& network, double bytes) : hop(network.ranks()), busy(network.ranks()) {
    for (int from = 0; from < network.ranks(); ++from) {
      for (int to = 0; to < network.ranks(); ++to) {
        if (from == to) continue;
        hop.at(from, to) = network.seconds(from, to, bytes);
        busy.at(from, to) =
            network.alpha(from, to) / 2 + bytes * network.beta(network.crossed(from, to).front());
      }
    }
  }
  PairTable hop;
  PairTable busy;
};

class Packer {
 public:
  Packer(const Network& network, const std::vector<Demand>& demands, const PackingChoice& choice)
      : network_(network),
        demands_(demands),
        choice_(choice),
        loads_(at(network.resources() + network.ranks())),
        chance_(choice.seed) {
    for (const Demand& demand : demands)
      times_.emplace_back(network, choice.bytes * demand.share / choice.pieces);
    packing_.trees.resize(demands.size() * at(choice.pieces));
  }

  Packing pack() {
    // Pieces before demands, so that no block has all its trees before the others.
    for (int piece = 0; piece < choice_.pieces; ++piece)
      for (std::size_t demand = 0; demand < demands_.size(); ++demand) put(demand, piece);
    bool better = true;
    for (int repairs = 0; better && repairs < most_repairs; ++repairs) {
      better = false;
      for (int piece = 0; piece < choice_.pieces; ++piece)
        for (std::size_t demand = 0; demand < demands_.size(); ++demand)
          better = again(demand, piece) || better;
    }
    loads_.resize(at(network_.resources()));
    packing_.seconds_a_byte = largest(loads_);
    return packing_;
  }

 private:
  Tree& tree(std::size_t demand, int piece) {
    return packing_.trees[demand * at(choice_.pieces) + at(piece)];
  }
  Cargo cargo_of(std::size_t demand) const {
    return {demands_[demand].direction, demands_[demand].share / choice_.pieces, choice_.bytes};
  }

  /// The sum of loads to the power of sharpness, in units of scale_.
  double tension() const {
    double sum = 0;
    for (const double load : loads_)
      sum += std::pow(std::min(load / scale_, most_overload), sharpness);
    return sum;
  }

  Tree found(std::size_t demand) {
    const Demand& wanted = demands_[demand];
    const Cargo cargo = cargo_of(demand);
    Loads prices(loads_.size());
    for (std::size_t resource = 0; resource < prices.size(); ++resource) {
      const double more = resource < at(network_.resources())
                              ? cargo.share * network_.beta(static_cast<int>(resource))
                              : 0;
      const double load = std::min((loads_[resource] + more) / scale_, most_overload);
      prices[resource] = std::pow(load, sharpness - 1) + 1e-6;
    }
    PairTable table = prices_of(network_, cargo, prices);
    if (choice_.seed != 0) shake(table);
    const int root = std::max(wanted.root, 0);
    const Tree cheapest =
        choice_.haste > 0 ? in_haste(table, demand, root) : cheapest_tree(table, root);
    return wanted.root < 0 ? from_centre(cheapest) : cheapest;
  }

  /// By up to 2 %.
  void shake(PairTable& prices) {
    for (int from = 0; from < prices.ranks(); ++from)
      for (int to = 0; to < prices.ranks(); ++to)
        prices.at(from, to) *= 1 + static_cast<double>(chance_() % 1000) * 2e-5;
  }

  /// Prices and times have the same mean, then haste weighs the times.
  Tree in_haste(PairTable prices, std::size_t demand, int root) const {
    double price = 0;
    double time = 0;
    for (int from = 0; from < prices.ranks(); ++from) {
      for (int to = 0; to < prices.ranks(); ++to) {
        price += prices.at(from, to);
        time += times_[demand].hop.at(from, to);
      }
    }
    for (int from = 0; from < prices.ranks(); ++from)
      for (int to = 0; to < prices.ranks(); ++to)
        prices.at(from, to) *= time / (price * choice_.haste);
    return early_tree(prices, times_[demand].hop, times_[demand].busy, root);
  }

  void put(std::size_t demand, int piece) {
    scale_ = largest(loads_);
    for (int resource = 0; scale_ <= 0 && resource < network_.resources(); ++resource)
      scale_ = cargo_of(demand).share * network_.beta(resource);
    if (scale_ <= 0) scale_ = 1;
    tree(demand, piece) = found(demand);
    add_load(network_, cargo_of(demand), tree(demand, piece), loads_);
  }

  /// Takes the tree out and finds its way again. Keeps the old one unless that is better.
  bool again(std::size_t demand, int piece) {
    const Tree before = tree(demand, piece);
    scale_ = largest(loads_);
    const double tension_before = tension();
    add_load(network_, cargo_of(demand), before, loads_, -1);
    for (double& load : loads_) load = std::max(load, 0.0);
    const Tree after = found(demand);
    const Loads without = loads_;
    add_load(network_, cargo_of(demand), after, loads_);
    const bool better = after != before && tension() < tension_before * (1 - 1e-9);
    if (!better) {
      loads_ = without;
      add_load(network_, cargo_of(demand), before, loads_);
    }
    tree(demand, piece) = better ? after : before;
    return better;
  }

  const Network& network_;
  const std::vector<Demand>& demands_;
  PackingChoice choice_;
  std::vector<Times> times_{};  ///< by demand
  Loads loads_;
  std::minstd_rand chance_;  ///< the same every time
  double scale_ = 1;         ///< the largest load, when a tree is looked for
  Packing packing_{};
};

}  // namespace

std::vector<Demand> demands_of(Collective collective, int ranks, int root) {
  std::vector<Demand> blocks;
  for (int rank = 0; rank < ranks; ++rank)
    blocks.push_back({rank, collective == Collective::all_gather ? Direction::down : Direction::up,
                      1.0 / ranks});
  switch (collective) {
    case Collective::all_reduce:
      return {{-1, Direction::both}};
    case Collective::broadcast:
      return {{root, Direction::down}};
    case Collective::reduce:
      return {{root, Direction::up}};
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return blocks;
    default:
      return {};
  }
}

Packing pack(const Network& network, const std::vector<Demand>& demands,
             const PackingChoice& choice) {
  return Packer(network, demands, choice).pack();
}

}  // namespace rondo::tool
