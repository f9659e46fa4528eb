#include "core/resident/form.h"

#include <algorithm>

#include "core/plan/decide.h"

namespace rondo::resident {
namespace {

using device::SmallAlgorithm;

constexpr std::size_t stripe_bytes = 4096;  ///< a mailbox's: a packet for each thread
constexpr std::size_t most_small_bytes =
    most_small_stripes * stripe_bytes;  ///< that a rank adds up
constexpr std::size_t bytes_of_a_trip = std::size_t{128} << 10;
constexpr std::size_t frames_bytes = std::size_t{32} << 20;
constexpr std::size_t most_frame_bytes = std::size_t{128} << 10;
constexpr std::uint32_t arena_depth = 2;

bool is_one_shot_faster(std::size_t bytes, std::size_t ranks) {
  return (ranks - 1) * (ranks - 2) * bytes <= ranks * bytes_of_a_trip;
}

Choice small(std::size_t bytes, SmallAlgorithm algorithm, std::size_t parts) {
  const std::size_t whole = parts * stripe_bytes;
  return {.form = Form::small,
          .small = algorithm,
          .stripes = static_cast<std::uint32_t>((bytes + whole - 1) / whole)};
}

/// An all-reduce by hand, where it is small enough and the algorithm is allowed.
std::optional<Choice> choose_small(const Call& call, std::size_t ranks,
                                   const AlgorithmSelection& selection) {
  if (call.collective != Collective::all_reduce) return std::nullopt;
  const std::size_t bytes = call.count * size_of(call.type);
  const bool direct = selection.allows(call.collective, direct_name);
  const auto allows = [&](std::string_view name) {
    return direct || selection.allows(call.collective, name);
  };
  const bool two_shot = allows("two_shot");
  if (bytes <= most_small_bytes && allows("one_shot") &&
      (!two_shot || is_one_shot_faster(bytes, ranks)))
    return small(bytes, SmallAlgorithm::one_shot, 1);
  if (bytes <= ranks * most_small_bytes && two_shot)
    return small(bytes, SmallAlgorithm::two_shot, ranks);
  return std::nullopt;
}

/// Who asks for shared memory has it on devices whatever the algorithm.
Composition composition_of(const Call& call, const Topology& around,
                           const AlgorithmSelection& selection) {
  const Composition ordinary =
      find_composition(call.collective, default_algorithm(call.collective));
  if (selection.allows(call.collective, direct_name) || selection.allows(call.collective, ordinary))
    return ordinary;
  return rondo::choose(call.collective, size_of(call, {}, around.ranks), around, selection,
                       rank_order_words(call))
      .algorithm;
}

}  // namespace

device::ArenaShape arena_shape(int ranks, std::uint32_t stripes) {
  const std::size_t frames = static_cast<std::size_t>(ranks) * stripes * arena_depth;
  return {.ranks = static_cast<std::uint32_t>(ranks),
          .stripes = stripes,
          .packet_stripes = most_small_stripes,
          .depth = arena_depth,
          .frame_bytes = static_cast<std::uint32_t>(
              std::min(most_frame_bytes, frames_bytes / frames / 16 * 16)),
          .packets = stripe_bytes / device::packet_payload,
          .mailbox = stripe_bytes / device::packet_payload};
}

std::size_t scratch_bytes(const device::ArenaShape& shape) {
  return std::size_t{2} * shape.stripes * shape.frame_bytes;
}

std::string_view default_algorithm(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "two_shot";
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::scan:
    case Collective::exclusive_scan:
      return "one_shot";
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather:
    case Collective::send_recv:
      return "linear";
    case Collective::barrier:
      break;
  }
  return "dissemination";
}

std::optional<Posted> posted_in_windows(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return Posted::sums;
    case Collective::all_gather:
    case Collective::all_to_all:
      return Posted::all;
    default:
      return std::nullopt;
  }
}

bool allows_default(const Call& call, Counts counts, const Topology& around,
                    const AlgorithmSelection& selection) {
  const auto allows = [&](std::string_view name) {
    return selection.allows(call.collective, name);
  };
  const bool by_hand = call.collective == Collective::all_reduce && allows("one_shot");
  if (!by_hand && !allows(default_algorithm(call.collective)) && !allows(direct_name)) return false;
  if (selection.written().empty() || !rank_order_words(call).empty()) return true;
  return !find_written(call.collective, size_of(call, counts, around.ranks), around, selection);
}

Choice choose(const Call& call, const Topology& around, const AlgorithmSelection& selection) {
  if (call.blocks != 0) return {};
  if (call.accumulate == DataType::float64 && call.type != DataType::float64) return {};
  const bool any_order = rank_order_words(call).empty();
  Composition composition;
  if (any_order)
    composition = find_written(call.collective, size_of(call, {}, around.ranks), around, selection);
  if (!composition) {
    if (const auto by_hand = choose_small(call, static_cast<std::size_t>(around.ranks), selection))
      return *by_hand;
    composition = composition_of(call, around, selection);
  }
  const bool divides = info(call.collective).reduces && call.op == ReduceOperator::avg;
  if (divides && is_integer(call.type) && !composition.rank_order()) return {};
  return {.form = Form::program, .composition = composition};
}

}  // namespace rondo::resident
