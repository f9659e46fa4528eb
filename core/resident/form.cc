#include "core/resident/form.h"

#include <algorithm>

#include "core/schedule/layout.h"

namespace rondo::resident {
namespace {

using device::SmallAlgorithm;

constexpr std::size_t stripe_bytes = 4096;  ///< a mailbox's: two packets for each thread
constexpr std::size_t most_small_bytes = most_stripes * stripe_bytes;  ///< that a rank adds up
constexpr std::size_t bytes_of_a_trip = std::size_t{128} << 10;

bool is_one_shot(std::size_t bytes, std::size_t ranks) {
  return (ranks - 1) * (ranks - 2) * bytes <= ranks * bytes_of_a_trip;
}

Choice small(std::size_t bytes, SmallAlgorithm algorithm, std::size_t parts) {
  const std::size_t whole = parts * stripe_bytes;
  return {Form::small, algorithm, static_cast<std::uint32_t>((bytes + whole - 1) / whole)};
}

}  // namespace

device::ArenaShape arena_shape(int ranks) {
  return {.ranks = static_cast<std::uint32_t>(ranks),
          .lanes = 1,
          .stripes = most_stripes,
          .depth = 2,
          .frame_bytes = 16384,
          .packets = stripe_bytes / device::packet_payload,
          .mailbox = stripe_bytes / device::packet_payload};
}

std::size_t most_held_bytes(int ranks) {
  return std::max(most_bytes, static_cast<std::size_t>(ranks) * most_small_bytes);
}

Choice choose(const Call& call, int ranks) {
  if (call.blocks != 0) return {};
  if (call.accumulate == DataType::float64 && call.type != DataType::float64) return {};
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t bytes = call.count * size_of(call.type);
  if (call.collective == Collective::all_reduce) {
    if (bytes <= most_small_bytes && is_one_shot(bytes, parts))
      return small(bytes, SmallAlgorithm::one_shot, 1);
    if (bytes <= parts * most_small_bytes) return small(bytes, SmallAlgorithm::two_shot, parts);
  }
  const int blocks = make_layout(call.collective, ranks, 1).blocks;
  const bool fits =
      ranks <= most_program_ranks &&
      call.count <= most_bytes / (static_cast<std::size_t>(blocks) * size_of(call.type));
  const bool divides = info(call.collective).reduces && call.op == ReduceOperator::avg;
  return {fits && !divides ? Form::program : Form::finite};
}

}  // namespace rondo::resident
