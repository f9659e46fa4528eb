#include "tools/trainer/strategy/bucket.h"

namespace rondo::train {

std::vector<Bucket> make_buckets(const Layout& layout, std::size_t elements) {
  std::vector<Bucket> buckets;
  const auto& units = layout.units();
  for (std::size_t u = units.size(); u-- > 0;) {
    const auto& parameters = units[u].parameters;
    for (std::size_t p = parameters.size(); p-- > 0;) {
      const std::size_t begin = units[u].begin + parameters[p].offset;
      if (!buckets.empty() && buckets.back().end - begin <= elements) {
        buckets.back().begin = begin;
        buckets.back().unit = u;
      } else {
        buckets.push_back({begin, begin + parameters[p].size(), u});
      }
    }
  }
  return buckets;
}

}  // namespace rondo::train
