// Profile: what messages, shared memory and reductions cost on one machine, as measured by `rondo
// calibrate`, and the constants of the simulator's clock that follow from it.
//
//   alpha              seconds of an 8-byte message, from one rank's call to its return on the
//                      other
//   copy               processor's seconds a byte at either end of a message: half the time of an
//                      all_gather round a ring, in which every rank sends and receives at once
//   overlap            how much of the two copies of a lone message happens at once, as a part of
//                      one copy
//   combined           seconds a byte that adding takes beyond receiving: a reduce_scatter round a
//                      ring has the messages of an all_gather and adds the data that comes
//   fetched            processor's seconds a byte to read a peer's memory without messages
//   fetched_combined   what adding takes beyond that
//   gamma              what combining two vectors takes beyond copying one: how types and operators
//                      differ
//
// Between hosts links move the bytes. There `beta` is the time of a byte while the rank sends and
// receives at once, and `combined` is the time that adding takes beyond that.
//
// Each value depends on the size, because of caches. A profile keeps the measured sizes. Between
// them values are interpolated along the logarithm of the size. Outside they stay constant.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/floor/trial.h"
#include "core/schedule/simulate.h"
#include "core/settings/values.h"
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
  int cores = 1;  ///< the cores that these ranks worked on; one for each host
  int hosts = 1;  ///< 1, or as many as ranks
  bench::Spread alpha{};
  Curve one_way{};    ///< a message to a peer that sends nothing meanwhile
  Curve exchange{};   ///< two all_gathers round a ring: a ring's all_reduce makes as many messages
  Curve combining{};  ///< two reduce_scatters round a ring, float32 sums: likewise
  bench::Spread meeting{};  ///< the shortest call on the direct path; 0: there is no direct path
  Curve fetch{};            ///< all_gather on the direct path, by bytes of all blocks
  Curve fetch_combining{};  ///< reduce_scatter on the direct path, float32 sums

  bool oversubscribed() const { return ranks > cores; }
  /// For people: how many ranks, and where they were.
  std::string where() const;
  /// The simulator's clock for calls of so many bytes, float32 sums. Slices are the caller's.
  Costs costs(double bytes) const;
  /// Seconds a byte that a rank sends while it receives as many: what its link carries.
  double beta(double bytes) const;
  double copy(double bytes) const;
  double combined(double bytes) const;
  double forward(double bytes) const;  ///< sending data that was just received or combined
  /// How much of the two copies of such a message happens at once, from 0 to 1 (see Costs).
  double overlap(double bytes) const;
  double fetched(double bytes) const;
  double fetched_combined(double bytes) const;  ///< the time that adding takes beyond fetching

 private:
  /// What sending data costs that was just received or combined, as a part of a copy.
  double forwarding() const;
  /// The copies that a processor makes in one pass round a ring, in units of bytes.
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
  int cores = 1;  ///< the cores that the calibrating process was allowed to use
  std::string kernel{};

  friend bool operator==(const Machine&, const Machine&) = default;
};
Machine this_machine();

struct Profile {
  Machine machine{};
  std::string date{};                ///< UTC, ISO 8601
  std::string version{};             ///< of rondo
  std::vector<LinkProfile> links{};  ///< all between ranks on one host, or all between hosts
  std::vector<GammaProfile> gammas{};

  bool apart() const { return !links.empty() && links.front().hosts > 1; }
  /// By messages of 1 MiB: those of shared memory on one host, none if it was not measured; those of
  /// the network between hosts.
  MeasuredCosts costs_of_links() const;

  /// The entry for so many ranks, else for the nearest number. Entries whose ranks share cores, or
  /// do not share them, as these do come first. `transport`: "" is that of the first entry. Throws
  /// Error{invalid_argument} that lists the known transports, where this one is missing.
  const LinkProfile& link(const std::string& transport, int ranks) const;
  /// The entry of the type and operator, or of the type with another operator.
  const GammaProfile& reduction(DataType type, ReduceOperator op) const;
  /// The simulator's clock for calls of so many bytes. Other types and operators than float32's sum
  /// differ by their gammas. The caller sets the slices.
  Costs costs(const LinkProfile& link, double bytes, DataType type, ReduceOperator op) const;
};

nlohmann::ordered_json to_json(const LinkProfile& link);
nlohmann::ordered_json to_json(const GammaProfile& gamma);
nlohmann::ordered_json to_json(const Profile& profile);
LinkProfile link_from_json(const nlohmann::ordered_json& json);
GammaProfile gamma_from_json(const nlohmann::ordered_json& json);

/// Throws Error{invalid_argument} that names the file and what is wrong in it.
Profile read_profile(const std::string& path);
/// The same, with a warning on standard error where it was made on another machine.
Profile read_profile_here(const std::string& path);
/// Throws Error{system} where the file cannot be written.
void write_profile(const Profile& profile, const std::string& path);
/// A warning if the profile was made on another machine; else empty.
std::string foreign_words(const Profile& profile);

}  // namespace rondo::tool
