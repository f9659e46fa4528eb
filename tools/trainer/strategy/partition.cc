#include "tools/trainer/strategy/partition.h"

namespace rondo::train {
namespace {

// From the model's end to its start.
std::vector<Segment> cut(const Layout& layout, std::size_t elements) {
  std::vector<Segment> segments;
  const auto& units = layout.units();
  for (std::size_t u = units.size(); u-- > 0;) {
    if (!segments.empty() && segments.back().end - units[u].begin <= elements) {
      segments.back().begin = units[u].begin;
      ++segments.back().units;
    } else {
      segments.push_back(
          {.begin = units[u].begin, .end = units[u].begin + units[u].size, .units = 1});
    }
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace

Partition::Partition(const Layout& layout, int ranks, int rank, std::size_t elements)
    : ranks_(static_cast<std::size_t>(ranks)),
      rank_(static_cast<std::size_t>(rank)),
      model_size_(layout.size()),
      segments_(cut(layout, elements)) {
  for (std::size_t index = 0; index < segments_.size(); ++index) {
    Segment& segment = segments_[index];
    segment.block = (segment.end - segment.begin + ranks_ - 1) / ranks_;
    segment.own = own_size_;
    segment.whole = own_size_ * ranks_;
    own_size_ += segment.block;
    segment_of_.insert(segment_of_.end(), segment.units, index);
  }
  for (const Unit& unit : layout.units()) begins_.push_back(unit.begin);
}

Extent Partition::owned(std::size_t segment) const {
  const Segment& s = segments_[segment];
  const std::size_t begin = std::min(s.begin + rank_ * s.block, s.end);
  return {begin, std::min(begin + s.block, s.end) - begin};
}

}  // namespace rondo::train
