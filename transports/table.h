// The table of transports: the one place that knows them all.
// To add one: a folder that imitates local/, and one row in table.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings/settings.h"
#include "core/transport/transport.h"

namespace rondo {

struct TransportKind {
  std::string_view name;     ///< the name users force: local, shm, verbs, tcp
  std::string_view summary;  ///< one line for people
  /// Empty when `from` can reach `to`; otherwise why not, in words for a log line.
  std::string (*obstacle)(const HostInfo& from, const HostInfo& to);
  std::unique_ptr<Transport> (*make)(const TransportSettings& settings);
};

/// Best first: a pair of ranks uses the first kind without an obstacle.
std::span<const TransportKind> transport_kinds();
const TransportKind* find_transport(std::string_view name);

/// The first kind that is allowed and has no obstacle between the two hosts, in both directions.
/// Null where there is none. The reasons against better kinds are added to `obstacles`.
const TransportKind* best_transport(const Selection& selection, const HostInfo& here,
                                    const HostInfo& there, std::string& obstacles);

/// Their names, best first.
std::vector<std::string_view> transport_names();

/// This process's host, with all that the obstacle() functions look at and that `config` allows.
/// Throws Error{configuration} for settings of a transport that are wrong.
HostInfo describe_host(const Config& config);

}  // namespace rondo
