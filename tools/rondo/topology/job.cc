#include "tools/rondo/topology/job.h"

#include <map>
#include <string>
#include <vector>

#include "bench/common/gather.h"
#include "core/settings/settings.h"
#include "core/transport/host.h"
#include "rondo/rondo.h"
#include "tools/rondo/calibrate/ranks.h"
#include "tools/rondo/json_fields.h"
#include "tools/rondo/topology/file.h"
#include "tools/rondo/topology/here.h"

namespace rondo::tool {
namespace {

/// Every rank's text.
std::vector<std::string> gather_all_texts(Communicator& world, const std::string& own) {
  const std::vector<std::size_t> sizes = bench::gather_all(world, own.size());
  std::size_t all = 0;
  for (const std::size_t size : sizes) all += size;
  std::string joined(all, '\0');
  world.all_gather_v(own.data(), joined.data(), sizes, DataType::uint8);
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    texts.push_back(joined.substr(at, size));
    at += size;
  }
  return texts;
}

[[noreturn]] void throw_disagreement(std::size_t rank, std::size_t other, const std::string& name) {
  throw Error(ErrorCode::configuration,
              "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                  " run on one host, " + name + ", and see different ports or devices",
              {.remedy = "start the ranks of a host alike: the same container, network and "
                         "CUDA_VISIBLE_DEVICES; or tell them apart with RONDO_HOSTID"});
}

}  // namespace

Topology discovered(bool& first) {
  first = true;
  Topology topology{.ranks = 1, .one_machine = true, .host = {0}, .socket = {socket_here()}};
  if (launched() == 1) {
    topology.hosts = {host_here()};
    return topology;
  }
  Communicator world = Communicator::from_environment();
  first = world.rank() == 0;
  const Json own{{"id", this_host(read_config().host_id).host},
                 {"host", to_json(host_here())},
                 {"socket", socket_here() + 1}};
  topology = {.ranks = world.size()};
  std::map<std::string, std::pair<int, std::size_t>> known;  // host's number and its first rank
  const std::vector<std::string> texts = gather_all_texts(world, own.dump());
  std::vector<Json> of_rank;
  for (const std::string& text : texts) of_rank.push_back(Json::parse(text));
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    const auto [found, is_new] = known.try_emplace(text(of_rank[rank], "id"),
                                                   std::pair(static_cast<int>(known.size()), rank));
    const auto [number, leader] = found->second;
    if (is_new) topology.hosts.push_back(host_from_json(of_rank[rank].at("host")));
    if (of_rank[rank].at("host") != of_rank[leader].at("host"))
      throw_disagreement(rank, leader, topology.hosts[static_cast<std::size_t>(number)].name);
    topology.host.push_back(number);
    topology.socket.push_back(whole(of_rank[rank], "socket", 0) - 1);
  }
  topology.one_machine = topology.hosts.size() == 1;
  return topology;
}

}  // namespace rondo::tool
