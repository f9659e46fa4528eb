// Hierarchical all_to_all. Blocks for the rank number k of any host first go to the rank of the own
// host that carries for k: number k mod L, where L ranks are. It sends each destination the blocks of
// all L ranks in one message. So on H hosts alike a rank sends H-1 messages over its port, not (H-1) L.
//
//   hosts {0 1} and {2 3}    inside   0 gives 1 its block for 3, 1 gives 0 its block for 2
//                            across   0 sends 2 the blocks 0>2 and 1>2, and so on
//                            inside   0 and 1 swap their own blocks
//
// Bytes over a port are those of the plain algorithms. Scratch, one part behind the other:
//
//   leaving    by carrier, by destination     bundles for the carriers
//   come       by source, by destination      bundles of the others of the host
//   carried    by destination, by source      what goes across
//   arrived    by host, by source             where a host's ranks are not consecutive
//
// Traeff, Rougier: MPI collectives and datatypes for hierarchical all-to-all communication, 2014.
#include <algorithm>
#include <utility>

#include "algorithms/compose.h"
#include "algorithms/composition.h"

namespace rondo {
namespace {

/// Room for runs of blocks, in scratch slots of its own. No run lies in two slots.
class Room {
 public:
  /// `runs` of `length` blocks each.
  Room(int first_slot, int blocks, int runs, int length)
      : slot_(first_slot),
        length_(length),
        in_a_slot_(std::max(1, blocks / std::max(length, 1))),
        slots_((runs + in_a_slot_ - 1) / in_a_slot_) {}

  int next_slot() const { return slot_ + slots_; }
  Chunk run(int number) const { return block(number, 0, length_); }
  Chunk block(int number, int place, int count = 1) const {
    return scratch(slot_ + number / in_a_slot_, number % in_a_slot_ * length_ + place, count);
  }

 private:
  int slot_;
  int length_;
  int in_a_slot_;
  int slots_;
};

/// An all_to_all between some ranks, with chunks of any length.
struct Exchange {
  std::vector<Chunk> sent;      ///< by peer; count 0: nothing
  std::vector<Chunk> received;  ///< likewise

  explicit Exchange(int ranks)
      : sent(static_cast<std::size_t>(ranks), input(0, 0)), received(sent) {}

  Steps steps(const Algorithm& row, int rank, std::vector<int> ranks, int phase) {
    Steps all = row.steps({rank, static_cast<int>(ranks.size())});
    return carry(std::move(*this), std::move(all), std::move(ranks), phase);
  }

 private:
  static Steps carry(Exchange chunks, Steps steps, std::vector<int> ranks, int phase) {
    while (const Step* step = steps.next()) {
      Step now = *step;
      const bool sends = now.kind != StepKind::receive;
      const bool receives = now.kind != StepKind::send;
      if (sends) now.from = chunks.sent[now.from.first];
      if (receives) now.into = chunks.received[now.into.first];
      if ((sends && now.from.count == 0) || (receives && now.into.count == 0)) continue;
      if (now.peer >= 0) now.peer = ranks[static_cast<std::size_t>(now.peer)];
      now.phase = static_cast<std::uint16_t>(now.phase + phase);
      co_yield now;
    }
  }
};

class AllToAll {
 public:
  AllToAll(const Composition& composition, const Hosts& hosts, int rank)
      : across_(*composition.across),
        inside_(*find_algorithm(Collective::all_to_all, composition.inside)),
        hosts_(hosts),
        host_(hosts.host_of(rank)),
        index_(hosts.index_of(rank)),
        size_(hosts.size(host_)),
        carried_for_(carried_for(index_)),
        bundled_(static_cast<int>(carried_for_.size())),
        leaving_(0, hosts.ranks(), bundles(most_carried()), most_carried()),
        come_(leaving_.next_slot(), hosts.ranks(), bundles(bundled_), bundled_),
        carried_(come_.next_slot(), hosts.ranks(), size_ > 1 ? bundled_ : 0, size_),
        arrived_(carried_.next_slot(), hosts.ranks(), hosts.count(), hosts.largest()) {}

  Steps steps() const {
    std::vector<Steps> all;
    if (size_ > 1) {
      all.push_back(pack());
      all.push_back(swap_bundles());
      all.push_back(sort());
    }
    // Only its own number receives. It comes last, so that nothing that is sent waits for it.
    for (int role = index_ + size_; role < hosts_.largest(); role += size_)
      all.push_back(across(role));
    all.push_back(across(index_));
    all.push_back(put_in_place());
    all.push_back(swap_own());
    return in_order(std::move(all));
  }

 private:
  /// A rank of another host.
  int rank_at(int host, int role) const {
    return hosts_.ranks(host)[static_cast<std::size_t>(role)];
  }
  bool goes_to(int host, int role) const { return host != host_ && role < hosts_.size(host); }

  /// The destinations for which the rank number `index` of this host carries, role by role.
  std::vector<int> carried_for(int index) const {
    std::vector<int> all;
    for (int role = index; role < hosts_.largest(); role += size_)
      for (int host = 0; host < hosts_.count(); ++host)
        if (goes_to(host, role)) all.push_back(rank_at(host, role));
    return all;
  }

  int most_carried() const { return static_cast<int>(carried_for(0).size()); }
  /// How many bundles of so many blocks need room. One block lies where it is sent from, or goes to.
  int bundles(int blocks) const { return blocks > 1 ? size_ : 0; }

  /// One block needs no packing: it is sent as it lies in the input.
  Chunk leaving(int carrier, const std::vector<int>& destinations) const {
    if (destinations.size() == 1) return input(destinations.front());
    return leaving_.block(carrier, 0, static_cast<int>(destinations.size()));
  }
  Chunk come(int source) const {
    return bundled_ == 1 ? carried_.block(0, source) : come_.run(source);
  }
  /// Blocks of consecutive ranks arrive in place.
  bool is_consecutive(int host) const {
    return hosts_.ranks(host).back() - hosts_.ranks(host).front() + 1 == hosts_.size(host);
  }
  Chunk arrived(int host) const {
    return is_consecutive(host) ? output(hosts_.ranks(host).front(), hosts_.size(host))
                                : arrived_.block(host, 0, hosts_.size(host));
  }

  Steps pack() const {
    for (int carrier = 0; carrier < size_; ++carrier) {
      const std::vector<int> destinations = carried_for(carrier);
      if (carrier == index_ || destinations.size() < 2) continue;
      for (int i = 0; i < static_cast<int>(destinations.size()); ++i)
        co_yield copy(input(destinations[static_cast<std::size_t>(i)]), leaving_.block(carrier, i));
    }
  }

  Steps swap_bundles() const {
    Exchange exchange(size_);
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == index_) continue;
      const std::vector<int> destinations = carried_for(peer);
      if (!destinations.empty())
        exchange.sent[static_cast<std::size_t>(peer)] = leaving(peer, destinations);
      if (bundled_ > 0) exchange.received[static_cast<std::size_t>(peer)] = come(peer);
    }
    return exchange.steps(inside_, index_, hosts_.ranks(host_), 0);
  }

  Steps sort() const {
    for (int i = 0; i < bundled_; ++i) {
      for (int source = 0; source < size_; ++source) {
        if (source == index_) {
          co_yield copy(input(carried_for_[static_cast<std::size_t>(i)]),
                        carried_.block(i, source));
        } else if (bundled_ > 1) {
          co_yield copy(come_.block(source, i), carried_.block(i, source));
        }
      }
    }
  }

  /// What this rank carries for one number of rank, and what comes if that is its own number.
  Steps across(int role) const {
    Exchange exchange(hosts_.count());
    std::vector<int> ranks;
    for (int host = 0; host < hosts_.count(); ++host) {
      const auto place = static_cast<std::size_t>(host);
      ranks.push_back(rank_at(host, role % hosts_.size(host)));
      if (goes_to(host, role)) exchange.sent[place] = carried_to(rank_at(host, role));
      if (host != host_ && role == index_) exchange.received[place] = arrived(host);
    }
    return exchange.steps(across_, host_, ranks, 1);
  }
  Chunk carried_to(int destination) const {
    if (size_ == 1) return input(destination);
    const auto number = std::ranges::find(carried_for_, destination) - carried_for_.begin();
    return carried_.run(static_cast<int>(number));
  }

  Steps put_in_place() const {
    for (int host = 0; host < hosts_.count(); ++host) {
      if (host == host_ || is_consecutive(host)) continue;
      for (int source = 0; source < hosts_.size(host); ++source)
        co_yield copy(arrived_.block(host, source), output(rank_at(host, source))).at(1, 0);
    }
  }

  Steps swap_own() const {
    Exchange blocks(size_);
    for (int peer = 0; peer < size_; ++peer) {
      blocks.sent[static_cast<std::size_t>(peer)] = input(rank_at(host_, peer));
      blocks.received[static_cast<std::size_t>(peer)] = output(rank_at(host_, peer));
    }
    return blocks.steps(inside_, index_, hosts_.ranks(host_), 2);
  }

  const Algorithm& across_;
  const Algorithm& inside_;
  const Hosts& hosts_;
  int host_;
  int index_;
  int size_;
  std::vector<int> carried_for_;
  int bundled_;  ///< destinations this rank carries for
  Room leaving_;
  Room come_;
  Room carried_;
  Room arrived_;
};

}  // namespace

Steps hierarchical_all_to_all(Composition composition, std::shared_ptr<const Hosts> hosts,
                              int rank) {
  const AllToAll place(composition, *hosts, rank);
  Steps steps = place.steps();
  while (const Step* step = steps.next()) co_yield *step;
}

int longest_bundle(const Hosts& hosts) {
  if (hosts.largest() == 1) return 1;
  int fewest = hosts.largest();
  for (int host = 0; host < hosts.count(); ++host)
    if (hosts.size(host) > 1) fewest = std::min(fewest, hosts.size(host));
  int most = 0;
  for (int host = 0; host < hosts.count(); ++host) most += (hosts.size(host) + fewest - 1) / fewest;
  return std::max(most, hosts.largest());
}

}  // namespace rondo
