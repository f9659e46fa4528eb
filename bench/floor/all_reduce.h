// All-reduces as probes, on data that changes with every sample and is checked after it.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/compare/pattern.h"
#include "bench/floor/probe.h"

namespace rondo::bench {

/// A trial's run(): makes the call again and again. A member that does not work returns at once.
template <class Call>
auto repeated(Call call, bool works = true) {
  return [call, works](int calls) {
    for (int i = 0; works && i < calls; ++i) call();
  };
}

/// `call` adds up the vectors of all members. `fresh`: a vector of 8 KiB or more is written anew
/// before each call, since its way between the caches is much of the time. For a smaller one reading
/// the clock would be much of the time.
template <class Call>
Probe all_reduce_probe(const Member& member, std::string name, double traffic,
                       const Vectors& vectors, Call call, bool fresh = false) {
  constexpr std::size_t least_refreshed = std::size_t{8} << 10;
  const auto salt = std::make_shared<std::size_t>(0);
  const auto write = [=, rank = member.rank()] {
    compare::fill(vectors.input, vectors.count(), *salt, rank);
  };
  Trial trial{.name = name, .run = repeated(call)};
  trial.prepare = [=] {
    ++*salt;
    write();
  };
  if (fresh && vectors.bytes >= least_refreshed) trial.refresh = write;
  trial.check = [=, ranks = member.size()] {
    if (const auto wrong = compare::wrong_sums(vectors.output, vectors.count(), 0, *salt, ranks))
      throw std::runtime_error(name + ": " + std::to_string(wrong) + " of " +
                               std::to_string(vectors.count()) + " elements are wrong");
  };
  return {std::move(name), vectors.bytes, traffic, std::move(trial)};
}

}  // namespace rondo::bench
