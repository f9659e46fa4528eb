// Profile: what messages, shared memory and reductions cost on one machine, as `rondo calibrate`
// measured it, and the constants of the simulator's clock that follow from it.
//
//   alpha     an 8-byte message, from one rank's call to its return on the other
//   copy      processor's seconds a byte at either end of a message: half of what all_gathers
//             round a ring take, where every rank sends and receives at once
//   overlap   of a lone message's two copies, as a part of one: what it takes less than both
//   combined  what a byte that is added to the own one takes beyond receiving it: a reduce_scatter
//             round a ring makes an all_gather's messages and adds what comes
//   fetched   processor's seconds a byte that a rank takes from a peer's memory without messages;
//             fetched_combined: what adding it takes beyond that
//   gamma     what combining two vectors takes beyond copying one: how types and operators differ
//
// Between hosts links move the bytes: there `beta` is what a byte takes that a rank sends while it
// receives as many, and `combined` what adding it takes beyond.
//
// Each depends on the size (caches), so it is kept at the sizes that were measured; in between it
// is interpolated along the logarithm of the size, beyond them it stays as it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/floor/trial.h"
#include "core/schedule/simulate.h"
#include "rondo/types.h"

namespace rondo::tool {

/// Samples of one size: quartiles of seconds.
struct Knot {
  double bytes = 0;
  bench::Spread seconds{};
};
using Curve = std::vector<Knot>;

/// Median seconds a byte at a size, less `alpha` seconds a sample. 0 for an empty curve.
double seconds_a_byte(const Curve& curve, double bytes, double alpha);

/// One transport between so many ranks on this machine, or one on each of so many hosts.
struct LinkProfile {
  std::string transport{};
  int ranks = 2;
  int cores = 1;  ///< that these ranks worked on; of hosts one each
  int hosts = 1;  ///< 1, or as many as ranks
  bench::Spread alpha{};
  Curve one_way{};    ///< a message, its sender's peer idle meanwhile
  Curve exchange{};   ///< two all_gathers round a ring: a ring's all_reduce makes as many messages
  Curve combining{};  ///< two reduce_scatters round a ring, float32 sums: likewise
  bench::Spread meeting{};  ///< the shortest call of the direct way; 0: there is no direct way
  Curve fetch{};            ///< all_gather of the direct way: by bytes of the whole
  Curve fetch_combining{};  ///< reduce_scatter of the direct way, float32 sums

  bool crowded() const { return ranks > cores; }
  /// For people: how many ranks, and where they were.
  std::string where() const;
  /// The simulator's clock for calls of so many bytes, float32 sums. Slices are the caller's.
  Costs costs(double bytes) const;
  /// Seconds a byte that a rank sends while it receives as many: what its link carries.
  double beta(double bytes) const;
  double copy(double bytes) const;
  double combined(double bytes) const;
  double forward(double bytes) const;  ///< sending on what was just received or combined
  /// Of the two copies of a message of so many bytes (see Costs): 0 to 1.
  double overlap(double bytes) const;
  double fetched(double bytes) const;
  double fetched_combined(double bytes) const;  ///< what adding takes beyond fetching

 private:
  /// Of a copy: what sending on takes that was just made.
  double forwarding() const;
  /// Of what goes through a processor in one pass round a ring: in units of bytes.
  double copies_a_pass() const;
};

struct GammaProfile {
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  Curve copies{};   ///< one vector to another, on every core at once
  Curve reduces{};  ///< two vectors into a third

  double gamma(double bytes) const;
};

struct Machine {
  std::string cpu{};
  int cores = 1;  ///< that the calibrating process was allowed to use
  std::string kernel{};

  friend bool operator==(const Machine&, const Machine&) = default;
};
Machine this_machine();

struct Profile {
  Machine machine{};
  std::string date{};                ///< UTC, ISO 8601
  std::string version{};             ///< of rondo
  std::vector<LinkProfile> links{};  ///< all of ranks on one host, or all of ranks on several
  std::vector<GammaProfile> gammas{};

  bool apart() const { return !links.empty() && links.front().hosts > 1; }

  /// The entry of so many ranks, else of the number nearest to it, of those that share cores alike
  /// first. `transport`: "" is that of the first entry. Throws Error{invalid_argument} that lists
  /// what there is, where the transport is missing.
  const LinkProfile& link(const std::string& transport, int ranks) const;
  /// The entry of the type and operator; of the type with sum, where the operator is missing.
  const GammaProfile& reduction(DataType type, ReduceOperator op) const;
  /// The simulator's clock for calls of so many bytes; other types and operators than float32's sum
  /// differ by their gammas. Slices are the caller's to set.
  Costs costs(const LinkProfile& link, double bytes, DataType type, ReduceOperator op) const;
};

nlohmann::ordered_json to_json(const LinkProfile& link);
nlohmann::ordered_json to_json(const GammaProfile& gamma);
nlohmann::ordered_json to_json(const Profile& profile);
LinkProfile link_from_json(const nlohmann::ordered_json& json);
GammaProfile gamma_from_json(const nlohmann::ordered_json& json);

/// Throws Error{invalid_argument} that names the file, and what in it is not as it should be.
Profile read_profile(const std::string& path);
/// Throws Error{system} where the file cannot be written.
void write_profile(const Profile& profile, const std::string& path);
/// What to warn of where the profile was made on another machine than this; else empty.
std::string foreign_words(const Profile& profile);

}  // namespace rondo::tool
