#include "core/stream/places.h"

#include <algorithm>

#include "core/schedule/collective.h"

namespace rondo::stream {
namespace {

using cuda::DevicePointer;

/// Parts of one place begin at multiples of this many elements: at cache lines of any type.
constexpr std::size_t part_elements = 128;

/// What comes from where is what the collective promises. What comes from the same place goes to
/// all its targets at once.
class Builder {
 public:
  Builder(const Call& call, Counts counts, std::span<const Buffers> ranks)
      : ranks_(ranks),
        promise_{.collective = call.collective,
                 .ranks = static_cast<int>(ranks.size()),
                 .root = info(call.collective).has_root ? call.root : 0,
                 .layout = make_layout(call.collective, static_cast<int>(ranks.size()), 1)},
        blocks_(partition_of(call, counts, promise_.layout)),
        element_bytes_(size_of(call.type)) {}

  /// By the source's block.
  std::vector<Place> places() const {
    const auto sources = static_cast<std::size_t>(promise_.ranks);
    std::vector<Place> all(static_cast<std::size_t>(promise_.layout.blocks) * sources);
    for (int rank = 0; rank < promise_.ranks; ++rank) {
      for (int block = 0; block < promise_.layout.blocks; ++block) {
        const auto from = expected(promise_, rank, block);
        if (!from) continue;
        const auto source = static_cast<std::size_t>(from->first);
        Place& place = all[static_cast<std::size_t>(from->source_chunk) * sources + source];
        if (place.targets.empty()) {
          place.sources = sources_of(*from);
          place.rank = from->source_chunk;
        }
        place.targets.push_back(at(Buffer::output, rank, block));
      }
    }
    std::erase_if(all, [](const Place& place) { return place.targets.empty(); });
    return all;
  }

 private:
  /// Where a block of a rank's buffer begins.
  DevicePointer at(Buffer buffer, int rank, int block) const {
    const Buffers& own = ranks_[static_cast<std::size_t>(rank)];
    const int first = held(promise_.collective, buffer, promise_.layout, rank, promise_.root).first;
    const std::size_t offset = blocks_.offset(block) - blocks_.offset(first);
    return (buffer == Buffer::input ? own.input : own.output) + offset * element_bytes_;
  }
  std::vector<DevicePointer> sources_of(const Expectation& from) const {
    std::vector<DevicePointer> all;
    for (int i = 0; i < from.ranks; ++i)
      all.push_back(at(Buffer::input, from.first + i, from.source_chunk));
    return all;
  }

  std::span<const Buffers> ranks_;
  Schedule promise_;
  Partition blocks_;
  std::size_t element_bytes_;
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
                              const std::vector<device::Scalar>& scales) {
  const bool reduces = info(call.collective).reduces;
  Places whole{.how = {.type = call.type}, .count = call.count};
  whole.shared = is_vector(call.collective);
  if (reduces) {
    whole.how.accumulate = call.accumulate;
    whole.how.op = call.op;
    if (call.op == ReduceOperator::avg) whole.how.divisor = ranks.size();
    whole.scales = scales;
  }
  const std::vector<Place> list = Builder(call, counts, ranks).places();
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
    // Devices that share the work write to different targets at a time.
    for (std::size_t i = 0; i < place.targets.size(); ++i)
      add(place.targets[(i + (places.shared ? device : 0)) % place.targets.size()]);
  }
  return work;
}

}  // namespace rondo::stream
