#include "tools/rondo/calibrate/measure.h"

#include "bench/floor/join.h"
#include "core/plan/sizes.h"
#include "tools/rondo/calibrate/trials.h"

namespace rondo::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double smallest = 8;
/// Samples are short, so that a round is over before the machine changes its speed.
constexpr double sample_seconds = 1e-3;
/// Between hosts a meeting takes as long as a short call, and ranks leave it one after the other.
constexpr double sample_seconds_between_hosts = 20e-3;

/// Whether results go past the caches, as in executors: it depends on the results of all ranks.
bool streams(double bytes, int ranks) {
  return bytes * ranks >= static_cast<double>(cached_results);
}

/// The part of a communicator's payload that moved without messages.
struct DirectShare {
  Traffic before{};
  std::vector<double> shares{};  ///< by sample
};

/// The communicators of one link, and what they time.
class Link {
 public:
  /// Collective. `hosts`: 1, or as many as members.
  Link(bench::Member& member, const CalibrateOptions& options, const std::string& transport,
       int hosts)
      : member_(member),
        options_(options),
        apart_(hosts > 1),
        buffers_(options.sizes.back()),
        messages_(bench::join(
            member, {.transport = transport, .algorithm = "all_gather:ring;reduce_scatter:ring"})) {
    if (transport == "shm")
      direct_ = bench::join(member, {.transport = transport, .algorithm = "direct"});
    for (const std::string& algorithm : options.checked) {
      const std::string forced = algorithm == "default" ? "" : algorithm;
      checked_.push_back(bench::join(member, {.transport = transport, .algorithm = forced}));
    }
  }

  /// Collective. The result is the same on every rank.
  std::vector<Samples> measure() {
    std::vector<Samples> all;
    for (const double bytes : options_.sizes) all.push_back(one_size(bytes));
    return all;
  }

  void finalize() {
    messages_.finalize();
    if (direct_) direct_.finalize();
    for (Communicator& world : checked_) world.finalize();
  }

 private:
  /// Calls that give the constants are timed before and after the calls compared with them.
  Samples one_size(double bytes) {
    std::vector<DirectShare> shares(checked_.size());
    std::vector<bench::Trial> trials = basic(bytes);
    if (!checked_.empty()) {
      for (std::size_t i = 0; i < checked_.size(); ++i)
        trials.push_back(checked(i, bytes, shares[i]));
      for (bench::Trial& trial : basic(bytes)) trials.push_back(std::move(trial));
    }
    // The time of a single call would include the time in which ranks leave their meeting.
    if (apart_)
      for (bench::Trial& trial : trials) trial.refresh = nullptr;
    const auto seconds =
        bench::measure(member_, trials,
                       {.rounds = options_.rounds,
                        .sample_seconds = apart_ ? sample_seconds_between_hosts : sample_seconds});
    Samples samples{.bytes = bytes};
    for (std::size_t i = 0; i < trials.size(); ++i) samples.add(trials[i].name, seconds[i]);
    for (std::size_t i = 0; i < checked_.size(); ++i) {
      const auto& all = shares[i].shares;  // begins with samples that only set the number of calls
      samples.direct[options_.checked[i]] = {all.end() - options_.rounds, all.end()};
    }
    return samples;
  }

  std::vector<bench::Trial> basic(double bytes) {
    const auto named = [](const char* name, bench::Trial trial) {
      trial.name = name;
      return trial;
    };
    std::vector<bench::Trial> trials{
        named(trial::smallest, ping_pong(messages_, buffers_, smallest)),
        named(trial::to_and_fro, ping_pong(messages_, buffers_, bytes)),
        named(trial::gather, gather_all(messages_, buffers_, bytes)),
        named(trial::scatter, scatter_all(messages_, buffers_, bytes))};
    if (!direct_) return trials;
    trials.push_back(
        named(trial::meeting, gather_all(direct_, buffers_, smallest * member_.size())));
    trials.push_back(named(trial::fetch, gather_all(direct_, buffers_, bytes)));
    trials.push_back(named(trial::fetch_combining, scatter_all(direct_, buffers_, bytes)));
    return trials;
  }

  bench::Trial checked(std::size_t index, double bytes, DirectShare& share) {
    Communicator& world = checked_[index];
    bench::Trial trial = all_reduce(world, buffers_, bytes);
    trial.name = options_.checked[index];
    trial.prepare = [&world, &share] { share.before = world.traffic(); };
    trial.check = [&world, &share] {
      const Traffic sent = world.traffic() - share.before;
      share.shares.push_back(sent.payload_bytes == 0 ? 0
                                                     : static_cast<double>(sent.direct_bytes) /
                                                           static_cast<double>(sent.payload_bytes));
    };
    return trial;
  }

  bench::Member& member_;
  const CalibrateOptions& options_;
  bool apart_;  ///< each member on a host of its own
  Buffers buffers_;
  Communicator messages_;
  Communicator direct_{};  ///< empty where there is no direct path
  std::vector<Communicator> checked_{};
};

GammaProfile measure_reduction(bench::Member& member, const CalibrateOptions& options,
                               Buffers& buffers, DataType type, ReduceOperator op) {
  GammaProfile gamma{.type = type, .op = op};
  for (const double bytes : options.sizes) {
    const bool streaming = streams(bytes, member.size());
    const std::vector<bench::Trial> trials{
        copies(buffers, bytes, streaming),
        reduces(buffers, bytes, {.type = type, .op = op, .streaming = streaming})};
    const auto samples =
        bench::measure(member, trials, {.rounds = options.rounds, .sample_seconds = 5e-4});
    gamma.copies.push_back({bytes, bench::spread_of(samples[0])});
    gamma.reduces.push_back({bytes, bench::spread_of(samples[1])});
  }
  return gamma;
}

}  // namespace

LinkMeasurement measure_link(const CalibrateOptions& options, Ranks& team,
                             const std::string& transport, int ranks) {
  const Json json = team.run(ranks, [&](bench::Member& member) -> Json {
    Link link(member, options, transport, team.hosts());
    Json all = Json::array();
    for (const Samples& samples : link.measure()) all.push_back(tool::to_json(samples));
    link.finalize();
    return all;
  });
  LinkMeasurement found{.checked = options.checked};
  for (const Json& one : json) found.samples.push_back(samples_from_json(one));
  found.link = constants_of(
      {.transport = transport, .ranks = ranks, .cores = team.cores(ranks), .hosts = team.hosts()},
      found.samples);
  return found;
}

std::vector<GammaProfile> measure_reductions(const CalibrateOptions& options, Ranks& team,
                                             int ranks) {
  const Json json = team.run(team.cores(ranks), [&](bench::Member& member) -> Json {
    Buffers buffers(options.sizes.back());
    Json all = Json::array();
    for (const DataType type : options.types) {
      for (const ReduceOperator op : options.ops) {
        if (applies_to(op, type))
          all.push_back(tool::to_json(measure_reduction(member, options, buffers, type, op)));
      }
    }
    return all;
  });
  std::vector<GammaProfile> all;
  for (const Json& one : json) all.push_back(gamma_from_json(one));
  return all;
}

}  // namespace rondo::tool
