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

}  // namespace rondo::bench
