#include "kernels/device/sizes.h"

#include <algorithm>
#include <bit>
#include <string>

#include "rondo/error.h"

namespace rondo::device {
namespace {

/// With fewer bytes than this, another stripe costs more in flags than its bandwidth gains.
constexpr std::size_t least_stripe_bytes = 4096;

[[noreturn]] void refuse_size(const SizeRequest& request, std::string message, std::string remedy) {
  const Schedule& schedule = request.schedule;
  throw Error(ErrorCode::configuration, std::move(message),
              {.rank = request.rank,
               .call = std::string(name(schedule.collective)) + " by " + schedule.algorithm,
               .remedy = std::move(remedy)});
}

std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t rounded_down(std::size_t value, std::size_t unit) { return value - value % unit; }

/// Bytes of one chunk that a message can carry.
std::size_t room(const SizeRequest& request) {
  const std::size_t payload = request.protocol == Protocol::bulk
                                  ? request.arena.frame_bytes
                                  : request.arena.packets * packet_payload;
  return rounded_down(payload / static_cast<std::size_t>(request.traits.longest_message),
                      vector_bytes);
}

/// Bytes of one chunk for which there is scratch memory.
std::size_t scratch_room(const SizeRequest& request, std::uint32_t stripes) {
  const auto slots = static_cast<std::size_t>(request.traits.scratch_slots);
  if (slots == 0) return request.most_scratch;
  const auto chunks = static_cast<std::size_t>(request.schedule.layout.chunks());
  return rounded_down(request.most_scratch / (slots * chunks * stripes), vector_bytes);
}

std::uint32_t stripes_of(const SizeRequest& request, std::size_t largest) {
  const ArenaShape& arena = request.arena;
  const std::uint32_t teams =
      request.protocol == Protocol::bulk ? arena.stripes : arena.packet_stripes;
  const bool is_merged = request.traits.stages > 0;  // into one lane
  const std::size_t most =
      is_merged ? teams : teams / static_cast<std::uint32_t>(request.schedule.lanes);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(largest / least_stripe_bytes, 1, most));
}

/// Slices are whole vectors, so that every piece of a message is aligned.
void cut(const SizeRequest& request, std::size_t largest, Sizes& sizes) {
  sizes.stripes = stripes_of(request, largest);
  const std::size_t share = rounded_up((largest + sizes.stripes - 1) / sizes.stripes, vector_bytes);
  const std::size_t most = request.traits.stages > 0
                               ? std::max(share, vector_bytes)
                               : std::min(room(request), scratch_room(request, sizes.stripes));
  if (most == 0) {
    refuse_size(
        request,
        "a message of " + std::to_string(request.traits.longest_message) +
            " chunks does not fit into a slot of the arena, or " +
            std::to_string(request.traits.scratch_slots) + " slots into " +
            std::to_string(request.most_scratch) + " bytes of scratch memory",
        "make frame_bytes, packets or the scratch memory larger, or choose another algorithm");
  }
  sizes.passes = (share + most - 1) / most;
  const std::size_t even = sizes.passes == 0 ? 0 : (share + sizes.passes - 1) / sizes.passes;
  sizes.slice = std::max(vector_bytes, rounded_up(even, vector_bytes)) / sizes.element_bytes;
  if (request.schedule.collective == Collective::barrier) sizes.passes = 1;
}

/// Averages divide once, where all contributions are added at once. Elsewhere each is multiplied
/// before it is added, as the host does it.
Recipe recipe_of(const SizeRequest& request) {
  Recipe recipe{.type = request.type, .op = request.op};
  const Schedule& schedule = request.schedule;
  if (request.op != ReduceOperator::avg || !info(schedule.collective).reduces) return recipe;
  recipe.op = ReduceOperator::sum;
  const bool floats = is_float(request.type);
  if (!request.traits.adds_all) {
    if (floats) recipe.before = 1.0 / schedule.ranks;
  } else if (floats) {
    recipe.after = 1.0 / schedule.ranks;
  } else {
    recipe.divisor = static_cast<std::uint64_t>(schedule.ranks);
  }
  return recipe;
}

/// The first element of the index space that a rank's buffer holds.
std::size_t first_element(const SizeRequest& request, const Partition& partition, Buffer buffer,
                          int rank) {
  const Schedule& schedule = request.schedule;
  return partition.offset(
      held(schedule.collective, buffer, schedule.layout, rank, schedule.root).first);
}

void check_fit(const SizeRequest& request) {
  check(request.arena);
  const ArenaShape& arena = request.arena;
  const Schedule& schedule = request.schedule;
  const auto lanes = static_cast<std::uint32_t>(schedule.lanes);
  if (arena.ranks == static_cast<std::uint32_t>(schedule.ranks) && arena.packet_stripes >= lanes &&
      arena.depth >= static_cast<std::uint32_t>(request.traits.depth))
    return;
  refuse_size(request,
              "programs of " + std::to_string(schedule.ranks) + " ranks, " + std::to_string(lanes) +
                  " lanes and depth " + std::to_string(request.traits.depth) +
                  " do not fit into an arena of " + std::to_string(arena.ranks) + " ranks, " +
                  std::to_string(arena.packet_stripes) + " stripes with packets and depth " +
                  std::to_string(arena.depth),
              "make the arena for the widest program of the group");
}

}  // namespace

void check(const ArenaShape& shape) {
  const bool positive = shape.ranks > 0 && shape.ranks <= most_peers && shape.stripes > 0 &&
                        shape.packet_stripes > 0 && shape.packet_stripes <= shape.stripes &&
                        shape.depth > 0 && shape.frame_bytes > 0 && shape.packets > 0 &&
                        shape.mailbox > 0 && shape.wipe_interval > 0;
  const bool flags = std::has_single_bit(shape.flag_period) && shape.flag_period <= 1u << 31 &&
                     std::uint64_t{shape.wipe_interval} * shape.depth * 2 <= shape.flag_period;
  if (positive && flags && shape.frame_bytes % vector_bytes == 0) return;
  throw Error(ErrorCode::configuration,
              "the shape of an arena is not valid: ranks " + std::to_string(shape.ranks) +
                  ", stripes " + std::to_string(shape.stripes) + ", packet_stripes " +
                  std::to_string(shape.packet_stripes) + ", depth " + std::to_string(shape.depth) +
                  ", frame_bytes " + std::to_string(shape.frame_bytes) + ", packets " +
                  std::to_string(shape.packets) + ", mailbox " + std::to_string(shape.mailbox) +
                  ", flag_period " + std::to_string(shape.flag_period) + ", wipe_interval " +
                  std::to_string(shape.wipe_interval),
              {.remedy = "numbers above 0, at most 64 ranks, no more stripes with packets than "
                         "stripes, and frame_bytes a multiple of 16. flag_period must be a "
                         "power of two from 2 * depth * wipe_interval to 2^31"});
}

Sizes sizes_of(const SizeRequest& request) {
  check_fit(request);
  const Schedule& schedule = request.schedule;
  const Layout& layout = schedule.layout;
  const std::size_t element = size_of(request.type);
  const Partition partition(layout, request.count, element);
  Sizes sizes{.recipe = recipe_of(request),
              .protocol = request.protocol,
              .element_bytes = static_cast<std::uint8_t>(element),
              .count = request.count,
              .parts = even_parts(request.count, layout.parts, element),
              .input_begin = first_element(request, partition, Buffer::input, request.rank),
              .output_begin = first_element(request, partition, Buffer::output, request.rank),
              .arena = request.arena};
  cut(request, partition.largest_chunk() * element, sizes);
  return sizes;
}

std::size_t scratch_bytes(const Sizes& sizes, int scratch_slots, int chunks) {
  return std::size_t{sizes.stripes} * static_cast<std::size_t>(scratch_slots) *
         static_cast<std::size_t>(chunks) * sizes.slice * sizes.element_bytes;
}

WindowAddresses windows_of(const SizeRequest& request, std::span<std::byte* const> inputs,
                           std::span<std::byte* const> outputs) {
  const std::size_t element = size_of(request.type);
  const Partition partition(request.schedule.layout, request.count, element);
  const auto begin = [&](std::byte* at, Buffer buffer, std::size_t rank) {
    // No address is worked out by pointers here: it may lie before the buffer.
    const std::size_t before =
        first_element(request, partition, buffer, static_cast<int>(rank)) * element;
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) - before);
  };
  WindowAddresses made{};
  for (std::size_t rank = 0; rank < inputs.size(); ++rank)
    made.inputs[rank] = begin(inputs[rank], Buffer::input, rank);
  for (std::size_t rank = 0; rank < outputs.size(); ++rank)
    made.outputs[rank] = begin(outputs[rank], Buffer::output, rank);
  return made;
}

}  // namespace rondo::device
