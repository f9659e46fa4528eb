#include "bench/floor/probe.h"

#include <algorithm>

namespace rondo::bench {

const Result* find(const std::vector<Result>& results, const std::string& name, std::size_t bytes) {
  const auto same = [&](const Result& result) {
    return result.name == name && result.bytes == bytes;
  };
  const auto found = std::find_if(results.begin(), results.end(), same);
  return found == results.end() ? nullptr : &*found;
}

std::vector<Result> measure(Member& member, const TeamOptions& options,
                            const std::vector<Source>& sources) {
  std::vector<Result> results;
  for (const std::size_t bytes : options.sizes) {
    std::vector<Probe> probes;
    for (const Source& source : sources) source.add(bytes, probes);
    std::vector<Trial> trials;
    for (const Probe& probe : probes) trials.push_back(probe.trial);
    auto samples = measure(member, trials, {.rounds = options.rounds});
    for (std::size_t i = 0; i < probes.size(); ++i)
      results.push_back({probes[i].name, bytes, probes[i].traffic, std::move(samples[i])});
  }
  for (const Source& source : sources)
    if (source.finish) source.finish();
  member.meet();  // no member's channels go while another one uses them
  return results;
}

}  // namespace rondo::bench
