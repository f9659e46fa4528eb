// Ranks that measure: this program's own, forked on this host, or those that a launcher started,
// one on each of several hosts.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/floor/team.h"

namespace rondo::tool {

class Ranks {
 public:
  using Body = std::function<nlohmann::ordered_json(bench::Member&)>;

  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// What `body` returns on one of `ranks` ranks. It returns the same on all. Throws
  /// std::runtime_error, or the Error of a launched rank, where a rank fails.
  virtual nlohmann::ordered_json run(int ranks, const Body& body) = 0;
  /// The number of hosts: 1, or as many as ranks.
  virtual int hosts() const = 0;
  /// The number of cores on which so many ranks work.
  virtual int cores(int ranks) const = 0;
  /// Whether this process is the one that prints and writes.
  virtual bool first() const = 0;

 protected:
  Ranks() = default;
};

/// Forks the ranks of each run and binds each to a core. The calling process must have one thread.
std::unique_ptr<Ranks> forked_ranks();
/// All processes of a launcher. Collective. Throws Error{configuration} unless each is on a host of
/// its own.
std::unique_ptr<Ranks> launched_ranks();

/// How many processes a launcher has started, by the library's own rules; 1: none. Throws
/// Error{configuration} for a launcher's variables that contradict each other.
int launched();

}  // namespace rondo::tool
