#include "core/stream/places.h"

#include <algorithm>

#include "core/schedule/layout.h"

namespace rondo::stream {
namespace {

using cuda::DevicePointer;

/// Parts of one place begin at multiples of this many elements: at cache lines of any type.
constexpr std::size_t part_elements = 128;

/// Makes the places of one call.
class Builder {
 public:
  Builder(const Call& call, Counts counts, std::span<const Buffers> ranks)
      : ranks_(ranks),
        blocks_(partition_of(call, counts,
                             make_layout(call.collective, static_cast<int>(ranks.size()), 1))),
        element_bytes_(size_of(call.type)),
        root_(ranks[root_of(call)]) {}

  /// Where block `block` of a buffer begins.
  DevicePointer at(DevicePointer buffer, std::size_t block) const {
    return buffer + blocks_.offset(static_cast<int>(block)) * element_bytes_;
  }
  std::vector<DevicePointer> inputs(std::size_t block) const {
    std::vector<DevicePointer> all;
    for (const Buffers& rank : ranks_) all.push_back(at(rank.input, block));
    return all;
  }
  std::vector<DevicePointer> outputs(std::size_t block) const {
    std::vector<DevicePointer> all;
    for (const Buffers& rank : ranks_) all.push_back(at(rank.output, block));
    return all;
  }

  std::vector<Place> reduced(Collective collective) const {
    if (collective == Collective::all_reduce) return {{inputs(0), outputs(0)}};
    if (collective == Collective::reduce) return {{inputs(0), {root_.output}}};
    std::vector<Place> blocks;
    for (std::size_t b = 0; b < ranks_.size(); ++b)
      blocks.push_back({inputs(b), {ranks_[b].output}, static_cast<int>(b)});
    return blocks;
  }

  std::vector<Place> moved(Collective collective) const {
    if (collective == Collective::broadcast) return {{{root_.input}, outputs(0)}};
    std::vector<Place> blocks;
    for (std::size_t b = 0; b < ranks_.size(); ++b) {
      const int rank = static_cast<int>(b);
      if (collective == Collective::all_gather) {
        blocks.push_back({{ranks_[b].input}, outputs(b), rank});
      } else if (collective == Collective::gather) {
        blocks.push_back({{ranks_[b].input}, {at(root_.output, b)}, rank});
      } else if (collective == Collective::scatter) {
        blocks.push_back({{at(root_.input, b)}, {ranks_[b].output}, rank});
      } else {
        for (std::size_t s = 0; s < ranks_.size(); ++s)
          blocks.push_back({{at(ranks_[s].input, b)}, {at(ranks_[b].output, s)}, rank});
      }
    }
    return blocks;
  }

 private:
  static std::size_t root_of(const Call& call) {
    return info(call.collective).has_root ? static_cast<std::size_t>(call.root) : 0;
  }

  std::span<const Buffers> ranks_;
  Partition blocks_;
  std::size_t element_bytes_;
  Buffers root_;
};

/// A copy onto itself is none. Every place keeps the shape of all.
void leave_out_copies_in_place(std::vector<Place>& places) {
  for (Place& place : places) std::ranges::replace(place.targets, place.sources.front(), 0);
  std::erase_if(places, [](const Place& place) {
    return std::ranges::all_of(place.targets, [](DevicePointer target) { return target == 0; });
  });
}

}  // namespace

std::vector<Places> places_of(const Call& call, Counts counts, std::span<const Buffers> ranks,
                              const std::vector<cuda::Scale>& scales) {
  const Builder builder(call, counts, ranks);
  const bool reduces = info(call.collective).reduces;
  Places whole{.how = {.type = call.type}, .count = call.count};
  whole.shared = is_vector(call.collective);
  if (reduces) {
    whole.how.accumulate = call.accumulate;
    whole.how.op = call.op;
    if (call.op == ReduceOperator::avg) whole.how.divisor = ranks.size();
    whole.scales = scales;
  }
  const std::vector<Place> list =
      reduces ? builder.reduced(call.collective) : builder.moved(call.collective);
  std::vector<Places> shapes;
  const auto add = [&](std::size_t count, std::vector<Place> places) {
    if (count == 0) return;
    shapes.push_back(whole);
    shapes.back().count = count;
    if (!reduces) leave_out_copies_in_place(places);
    shapes.back().list = std::move(places);
  };
  if (counts.empty()) add(call.count, list);
  for (std::size_t block = 0; block < counts.size(); ++block) add(counts[block], {list[block]});
  return shapes;
}

cuda::Work work_of(const Places& places, std::span<const std::size_t> device_of, std::size_t device,
                   std::size_t devices) {
  cuda::Work work{.how = places.how, .count = places.count, .scales = places.scales};
  if (places.list.empty()) return work;
  work.sources = places.list.front().sources.size();
  work.targets = places.list.front().targets.size();
  const auto part = [&](std::size_t of) {
    return of == devices ? places.count
                         : places.count / part_elements * of / devices * part_elements;
  };
  const std::size_t first = places.shared ? part(device) : 0;
  if (places.shared) work.count = part(device + 1) - first;
  const auto add = [&](DevicePointer pointer) {
    work.pointers.push_back(pointer == 0 ? 0 : pointer + first * size_of(places.how.type));
  };
  for (const Place& place : places.list) {
    if (!places.shared && device_of[static_cast<std::size_t>(place.rank)] != device) continue;
    std::ranges::for_each(place.sources, add);
    std::ranges::for_each(place.targets, add);
  }
  return work;
}

}  // namespace rondo::stream
