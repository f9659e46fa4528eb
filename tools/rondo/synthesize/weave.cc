#include "tools/rondo/synthesize/weave.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

namespace rondo::tool {
namespace {

/// A tree and the run of chunks that it carries.
struct Carrier {
  Tree tree{};
  std::vector<int> depths{};
  Direction direction = Direction::down;
  int first = 0;  ///< chunk
  int count = 1;
  int lane = 0;
};

/// Trees of a block that are the same become one with more chunks.
std::vector<Carrier> carriers_of(Collective collective, const std::vector<Demand>& demands,
                                 const Packing& packing) {
  const int pieces = static_cast<int>(packing.trees.size() / demands.size());
  std::vector<Carrier> all;
  for (std::size_t demand = 0; demand < demands.size(); ++demand) {
    std::vector<Carrier> of_block;
    for (int piece = 0; piece < pieces; ++piece) {
      const Tree& tree = packing.trees[demand * at(pieces) + at(piece)];
      const auto same = std::ranges::find(of_block, tree, &Carrier::tree);
      if (same != of_block.end())
        ++same->count;
      else
        of_block.push_back({tree, depths_of(tree), demands[demand].direction});
    }
    int chunk = is_vector(collective) ? 0 : static_cast<int>(demand) * pieces;
    for (Carrier& each : of_block) {
      each.first = chunk;
      chunk += each.count;
      all.push_back(each);
    }
  }
  return all;
}

struct Message {
  int carrier = 0;
  int from = 0;
  int to = 0;
  bool up = false;
  int waits_for = 0;            ///< messages that have not come yet
  std::vector<int> releases{};  ///< those that wait for this one
  double ready = 0;             ///< seconds
  int round = 0;                ///< from 0
  int behind = 0;               ///< messages one after the other that depend on it
};

class Weaver {
 public:
  Weaver(const Network& network, const std::vector<Carrier>& carriers, double chunk_bytes,
         bool mirrored)
      : network_(network),
        carriers_(carriers),
        chunk_bytes_(chunk_bytes),
        mirrored_(mirrored),
        free_(at(network.resources())),
        last_sent_(at(network.ranks()), -1),
        last_received_(at(network.ranks()), -1) {
    for (int carrier = 0; carrier < static_cast<int>(carriers_.size()); ++carrier) add(carrier);
    for (std::size_t message = messages_.size(); message-- > 0;)
      for (const int next : messages_[message].releases)
        messages_[message].behind =
            std::max(messages_[message].behind, messages_[at(next)].behind + 1);
  }

  /// All messages, each with its round.
  std::vector<Message> in_rounds() {
    using Next = std::tuple<double, int, int>;  // that can start first; of those, the most awaited
    std::priority_queue<Next, std::vector<Next>, std::greater<>> open;
    const auto add_open = [&](int message) {
      const Message& one = messages_[at(message)];
      open.emplace(start(one), -one.behind, message);
    };
    for (int message = 0; message < static_cast<int>(messages_.size()); ++message)
      if (messages_[at(message)].waits_for == 0) add_open(message);
    while (!open.empty()) {
      const auto [begin, behind, message] = open.top();
      open.pop();
      if (start(messages_[at(message)]) > begin) {  // its link was taken meanwhile
        add_open(message);
        continue;
      }
      go(messages_[at(message)]);
      for (const int released : messages_[at(message)].releases)
        if (--messages_[at(released)].waits_for == 0) add_open(released);
    }
    if (mirrored_) mirror();
    return messages_;
  }

 private:
  /// Messages stand before those that wait for them.
  void add(int carrier) {
    const Carrier& own = carriers_[at(carrier)];
    std::vector<int> order(own.tree.parent.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) order[rank] = static_cast<int>(rank);
    std::ranges::stable_sort(order, {}, [&](int rank) { return own.depths[at(rank)]; });
    std::vector<int> sums;  // messages with sums that have come to the root
    if (own.direction != Direction::down && !mirrored_) {
      std::map<int, std::vector<int>> into;  // by rank
      for (auto child = order.rbegin(); child != order.rend(); ++child) {
        const int parent = own.tree.parent[at(*child)];
        if (parent >= 0)
          into[parent].push_back(message(carrier, *child, parent, true, into[*child]));
      }
      sums = into[own.tree.root];
    }
    if (own.direction == Direction::up && !mirrored_) return;
    std::map<int, int> from;  // by rank, the message that brings it the result
    for (const int child : order) {
      const int parent = own.tree.parent[at(child)];
      if (parent < 0) continue;
      from[child] = message(carrier, parent, child, false,
                            parent == own.tree.root ? sums : std::vector<int>{from[parent]});
    }
  }

  int message(int carrier, int from, int to, bool up, const std::vector<int>& after) {
    const int number = static_cast<int>(messages_.size());
    messages_.push_back({carrier, from, to, up, static_cast<int>(after.size())});
    for (const int before : after) messages_[at(before)].releases.push_back(number);
    return number;
  }

  /// The last message becomes the first, and goes the other way.
  void mirror() {
    int last = 0;
    for (const Message& message : messages_) last = std::max(last, message.round);
    for (Message& message : messages_) {
      message.round = last - message.round;
      std::swap(message.from, message.to);
      message.up = true;
    }
  }

  /// Of a mirrored message, those of the one that it stands for.
  std::span<const int> crossed(const Message& message) const {
    return mirrored_ ? network_.crossed(message.to, message.from)
                     : network_.crossed(message.from, message.to);
  }
  double start(const Message& message) const {
    return std::max(message.ready,
                    free_[at(mirrored_ ? crossed(message).back() : crossed(message).front())]);
  }

  void go(Message& message) {
    const double bytes = chunk_bytes_ * carriers_[at(message.carrier)].count;
    double begin = start(message);
    double end = begin;
    bool first = true;
    for (const int resource : crossed(message)) {
      double& free = free_[at(resource)];
      begin = std::max(begin, free);
      free = begin + bytes * network_.beta(resource);
      if (first) free += network_.alpha(message.from, message.to) / 2;
      first = false;
      end = std::max(end, free);
    }
    end += network_.alpha(message.from, message.to);
    message.round = std::max(
        {message.round, last_sent_[at(message.from)] + 1, last_received_[at(message.to)] + 1});
    last_sent_[at(message.from)] = message.round;
    last_received_[at(message.to)] = message.round;
    for (const int released : message.releases) {
      Message& next = messages_[at(released)];
      next.ready = std::max(next.ready, end);
      next.round = std::max(next.round, message.round + 1);
    }
  }

  const Network& network_;
  const std::vector<Carrier>& carriers_;
  double chunk_bytes_;
  bool mirrored_;
  std::vector<Message> messages_{};
  std::vector<double> free_;    ///< by resource, when it can carry the next message
  std::vector<int> last_sent_;  ///< round, by rank
  std::vector<int> last_received_;
};

/// Collects the steps of each rank and lane.
class StepLists {
 public:
  StepLists(const std::vector<Carrier>& carriers, int ranks, int lanes)
      : carriers_(carriers), lanes_(lanes), lists_(at(ranks) * at(lanes)) {
    for (const Carrier& carrier : carriers_)  // what a root gives away lies in its output
      if (carrier.direction == Direction::down)
        put(carrier, carrier.tree.root, copy(input_of(carrier), output_of(carrier)).at(0, 0));
  }

  void add(const Message& message) {
    const Carrier& carrier = carriers_[at(message.carrier)];
    const int phase = carrier.direction == Direction::both && !message.up ? 1 : 0;
    const auto labelled = [&](const Step& step) { return step.at(phase, message.round); };
    put(carrier, message.from, labelled(send(message.to, held(message, message.from))));
    if (!message.up)
      return put(carrier, message.to, labelled(receive(message.from, output_of(carrier))));
    const Chunk sum = message.to == carrier.tree.root ? output_of(carrier)
                                                      : scratch(0, carrier.first, carrier.count);
    put(carrier, message.to,
        labelled(receive_reduce(message.from, held(message, message.to), sum, Order::local_first)));
    sums_[{message.carrier, message.to}] = sum;
  }

  std::vector<std::vector<Step>> lists() && { return std::move(lists_); }

 private:
  static Chunk input_of(const Carrier& carrier) { return input(carrier.first, carrier.count); }
  static Chunk output_of(const Carrier& carrier) { return output(carrier.first, carrier.count); }
  /// Where the rank holds the message's chunks before it.
  Chunk held(const Message& message, int rank) const {
    const Carrier& carrier = carriers_[at(message.carrier)];
    if (!message.up) return output_of(carrier);
    const auto sum = sums_.find({message.carrier, rank});
    return sum != sums_.end() ? sum->second : input_of(carrier);
  }
  void put(const Carrier& carrier, int rank, const Step& step) {
    lists_[at(rank) * at(lanes_) + at(carrier.lane)].push_back(step);
  }

  const std::vector<Carrier>& carriers_;
  int lanes_;
  std::vector<std::vector<Step>> lists_;         ///< by rank, then lane
  std::map<std::pair<int, int>, Chunk> sums_{};  ///< by carrier and rank
};

Steps yielded(std::shared_ptr<const std::vector<std::vector<Step>>> lists, std::size_t list) {
  for (const Step& step : (*lists)[list]) co_yield step;
}

}  // namespace

Schedule weave(Collective collective, int root, const Network& network,
               const std::vector<Demand>& demands, const Packing& packing, double bytes,
               const Weave& how) {
  const int pieces = static_cast<int>(packing.trees.size() / demands.size());
  Schedule schedule{.collective = collective,
                    .algorithm = "synthesized",
                    .ranks = network.ranks(),
                    .root = root,
                    .layout = make_layout(collective, network.ranks(), pieces)};
  std::vector<Carrier> carriers = carriers_of(collective, demands, packing);
  schedule.lanes = std::min(how.lanes, static_cast<int>(carriers.size()));
  for (std::size_t carrier = 0; carrier < carriers.size(); ++carrier)
    carriers[carrier].lane = static_cast<int>(carrier) % schedule.lanes;
  schedule.phases = collective == Collective::all_reduce
                        ? std::vector<std::string>{"reduce", "broadcast"}
                        : std::vector{std::string(name(collective))};
  Weaver weaver(network, carriers, bytes / schedule.layout.chunks(), how.mirrored);
  std::vector<Message> messages = weaver.in_rounds();
  std::ranges::stable_sort(messages, {}, [](const Message& message) {
    return std::pair(message.round, message.carrier);
  });
  StepLists lists(carriers, network.ranks(), schedule.lanes);
  for (const Message& message : messages) lists.add(message);
  const auto all = std::make_shared<const std::vector<std::vector<Step>>>(std::move(lists).lists());
  schedule.steps = [all, count = schedule.lanes](int rank, int lane) {
    return yielded(all, at(rank) * at(count) + at(lane));
  };
  return schedule;
}

}  // namespace rondo::tool
