#include "tools/rondo/page/network.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/topology/routes.h"

namespace rondo::tool {

namespace {

using Json = nlohmann::ordered_json;

/// Links and hops, each once, numbered in the order in which they are first met.
class Network {
 public:
  explicit Network(const Topology& topology) : routes_(topology) {
    for (int rank = 0; rank < topology.ranks; ++rank) {
      const int port = routes_.port_out(rank);
      if (std::ranges::find(users_, port, &User::port) == users_.end())
        users_.push_back({port, rank});
      ports_.push_back(number(port));
    }
  }

  Json data() {
    Json ways = Json::array();
    for (const User& from : users_) {
      ways.push_back(Json::array());
      for (const User& to : users_) ways.back().push_back(way(from.rank, to.rank));
    }
    return {{"alpha", routes_.network_alpha()}, {"beta", routes_.beta(users_.front().port)},
            {"links", std::move(links_)},       {"ports", std::move(ports_)},
            {"ways", std::move(ways)},          {"hops", std::move(hops_)}};
  }

 private:
  struct User {  ///< a rank that stands for all with its port
    int port = 0;
    int rank = 0;
  };

  std::size_t number(int link) {
    const auto [found, is_new] = numbers_.try_emplace(link, numbers_.size());
    if (is_new) links_.push_back(routes_.beta(link) / routes_.beta(users_.front().port));
    return found->second;
  }
  /// Without the sender's port.
  int way(int from, int to) {
    if (routes_.same_host(from, to)) return -1;
    routes_.between(from, to, route_);
    int next = -1;
    for (std::size_t at = route_.size(); at-- > 1;) {
      const auto [found, is_new] =
          known_hops_.try_emplace({route_[at], next}, static_cast<int>(known_hops_.size()));
      if (is_new) {
        hops_.push_back(number(route_[at]));
        hops_.push_back(next);
      }
      next = found->second;
    }
    return next;
  }

  Routes routes_;
  std::vector<User> users_{};
  std::map<int, std::size_t> numbers_{};  ///< of links
  std::map<std::pair<int, int>, int> known_hops_{};
  std::vector<int> route_{};
  Json ports_ = Json::array();
  Json links_ = Json::array();
  Json hops_ = Json::array();
};

}  // namespace

nlohmann::ordered_json network_data(const Topology& topology) { return Network(topology).data(); }

}  // namespace rondo::tool
