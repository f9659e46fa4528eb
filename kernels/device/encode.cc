#include "kernels/device/encode.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>

#include "rondo/error.h"

namespace rondo::device {
namespace {

/// With fewer bytes than this, another stripe costs more in flags than its bandwidth gains.
constexpr std::size_t least_stripe_bytes = 4096;

[[noreturn]] void refuse(const Schedule& schedule, int rank, ErrorCode code, std::string message,
                         std::string remedy) {
  throw Error(code, std::move(message),
              {.rank = rank,
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
  const std::size_t most = teams / static_cast<std::uint32_t>(request.schedule.lanes);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(largest / least_stripe_bytes, 1, most));
}

/// Slices are whole vectors, so that every piece of a message is aligned.
void cut(const SizeRequest& request, std::size_t largest, Sizes& sizes) {
  sizes.stripes = stripes_of(request, largest);
  const std::size_t most = std::min(room(request), scratch_room(request, sizes.stripes));
  if (most == 0) {
    refuse(request.schedule, request.rank, ErrorCode::configuration,
           "a message of " + std::to_string(request.traits.longest_message) +
               " chunks does not fit into a slot of the arena, or " +
               std::to_string(request.traits.scratch_slots) + " slots into " +
               std::to_string(request.most_scratch) + " bytes of scratch memory",
           "make frame_bytes, packets or the scratch memory larger, or choose another algorithm");
  }
  const std::size_t share = rounded_up((largest + sizes.stripes - 1) / sizes.stripes, vector_bytes);
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

/// Numbers the messages of one lane, channel by channel.
class Numbering {
 public:
  explicit Numbering(std::uint32_t ranks) : entries_(ranks) {}

  MessageNumber send(std::int32_t peer) { return {at(peer).sent++, 0}; }
  MessageNumber receive(std::int32_t peer) { return {at(peer).received++, 0}; }
  std::uint32_t sent(std::uint32_t peer) { return entries_[peer].sent; }
  std::uint32_t received(std::int32_t peer) { return at(peer).received; }

  /// The channels in use.
  std::vector<ChannelEntry> entries() const {
    std::vector<ChannelEntry> used;
    for (std::uint32_t peer = 0; peer < entries_.size(); ++peer) {
      const ChannelEntry& entry = entries_[peer];
      if (entry.sent + entry.received > 0) used.push_back({peer, entry.sent, entry.received});
    }
    return used;
  }

 private:
  ChannelEntry& at(std::int32_t peer) { return entries_[static_cast<std::size_t>(peer)]; }
  std::vector<ChannelEntry> entries_;
};

/// The arrays of a program before they are packed.
struct Arrays {
  std::vector<LaneEntry> lanes;
  std::vector<ChannelEntry> channels;
  std::vector<DeviceOp> ops;
  std::vector<DeviceOperand> operands;
  std::vector<DeviceSend> sends;
};

class Encoder {
 public:
  Encoder(const Schedule& schedule, const Program& program, int rank)
      : schedule_(schedule), program_(program), rank_(rank) {}

  Arrays run() {
    for (int lane = 0; lane < program_.lanes; ++lane) add_lane(static_cast<std::uint32_t>(lane));
    return std::move(arrays_);
  }

 private:
  void add_op(std::uint32_t number, Numbering& numbering) {
    const Op& op = program_.ops[number];
    if (may_join(op)) return add_send(op, numbering);
    check_operands(op);
    const bool adds = info(schedule_.collective).reduces && op.operands > 1;
    DeviceOp made{.first_operand = static_cast<std::uint32_t>(arrays_.operands.size()),
                  .operands = op.operands,
                  .first_send = static_cast<std::uint32_t>(arrays_.sends.size()),
                  .number = number,
                  .writes = op.writes ? std::uint16_t{1} : std::uint16_t{0},
                  .adds_all = adds && op.operands == ranks() ? std::uint16_t{1} : std::uint16_t{0},
                  .into = op.into,
                  .extent_first = op.extent.first,
                  .extent_count = op.extent.count};
    for (const Operand& operand : program_.operands_of(op)) {
      DeviceOperand& entry = arrays_.operands.emplace_back();
      entry.peer = operand.peer;
      entry.chunk = operand.chunk;
      if (operand.is_channel()) entry.in = numbering.receive(operand.peer);
    }
    arrays_.ops.push_back(made);
    if (op.out_peer >= 0) add_send(op, numbering);
    last_ = &op;
  }

  /// To the newest op.
  void add_send(const Op& op, Numbering& numbering) {
    arrays_.sends.push_back({static_cast<std::uint32_t>(op.out_peer), numbering.send(op.out_peer)});
    ++arrays_.ops.back().sends;
  }

  /// Whether the op only sends what the one before it has made, or sends, to one more peer. Then both are
  /// one: the result is still in registers. The one op waits for the credits of both at once. These are
  /// of earlier passes, which end without this one, where channels hold all messages of a pass.
  bool may_join(const Op& op) const {
    if (last_ == nullptr || op.lane != last_->lane || op.operands != 1 || op.writes ||
        op.out_peer < 0 || op.extent.first != last_->extent.first ||
        op.extent.count != last_->extent.count)
      return false;
    const Operand& sent = program_.operands_of(op).front();
    if (sent.is_channel()) return false;
    const auto same = [&](const Chunk& chunk) { return chunk == sent.chunk; };
    const Operand& first = program_.operands_of(*last_).front();
    const bool sends_the_same =
        !last_->writes && last_->operands == 1 && !first.is_channel() && same(first.chunk);
    if (!sends_the_same && !(last_->writes && same(last_->into))) return false;
    const auto messages = std::ranges::count_if(program_.ops, [&](const Op& other) {
      return other.lane == op.lane && other.out_peer == op.out_peer;
    });
    if (messages > program_.depth) return false;
    const auto peer = static_cast<std::uint32_t>(op.out_peer);
    const std::span sends(arrays_.sends);
    return std::ranges::find(sends.subspan(arrays_.ops.back().first_send), peer,
                             &DeviceSend::peer) == sends.end();
  }

  /// A team notes one message of a peer for each op (bulk.h).
  void check_operands(const Op& op) const {
    if (op.operands > most_operands) {
      refuse(schedule_, rank_, ErrorCode::invalid_argument,
             "an op of " + std::to_string(op.operands) + " operands is too wide for the device",
             "an algorithm whose steps combine at most " + std::to_string(most_operands));
    }
    std::vector<bool> seen(ranks());
    for (const Operand& operand : program_.operands_of(op)) {
      if (!operand.is_channel()) continue;
      if (seen[static_cast<std::size_t>(operand.peer)]) {
        refuse(schedule_, rank_, ErrorCode::invalid_argument,
               "an op takes two messages of rank " + std::to_string(operand.peer) + " at once",
               "an algorithm whose steps combine one message of a peer");
      }
      seen[static_cast<std::size_t>(operand.peer)] = true;
    }
  }

  void add_lane(std::uint32_t lane) {
    LaneEntry entry{.first_op = static_cast<std::uint32_t>(arrays_.ops.size()),
                    .first_channel = static_cast<std::uint32_t>(arrays_.channels.size())};
    const std::size_t first_operand = arrays_.operands.size();
    const std::size_t first_send = arrays_.sends.size();
    Numbering numbering(static_cast<std::uint32_t>(ranks()));
    for (std::uint32_t number = 0; number < program_.ops.size(); ++number) {
      if (program_.ops[number].lane == lane) add_op(number, numbering);
    }
    for (std::size_t i = first_send; i < arrays_.sends.size(); ++i) {
      DeviceSend& send = arrays_.sends[i];
      send.out.per_pass = numbering.sent(send.peer);
    }
    for (std::size_t i = first_operand; i < arrays_.operands.size(); ++i) {
      DeviceOperand& operand = arrays_.operands[i];
      if (operand.peer >= 0) operand.in.per_pass = numbering.received(operand.peer);
    }
    for (const ChannelEntry& used : numbering.entries()) arrays_.channels.push_back(used);
    entry.ops = static_cast<std::uint32_t>(arrays_.ops.size()) - entry.first_op;
    entry.channels = static_cast<std::uint32_t>(arrays_.channels.size()) - entry.first_channel;
    arrays_.lanes.push_back(entry);
  }

  std::size_t ranks() const { return static_cast<std::size_t>(schedule_.ranks); }

  const Schedule& schedule_;
  const Program& program_;
  const int rank_;
  Arrays arrays_{};
  const Op* last_ = nullptr;  ///< that has a device op of its own
};

/// The place for entries after `end` bytes. It moves the end.
template <class T>
ProgramArray place(std::size_t& end, const std::vector<T>& entries) {
  const std::size_t begin = rounded_up(end, alignof(T));
  end = begin + entries.size() * sizeof(T);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(entries.size())};
}

template <class T>
void put(std::vector<std::byte>& bytes, ProgramArray where, const std::vector<T>& entries) {
  std::ranges::copy(std::as_bytes(std::span(entries)), bytes.begin() + where.begin);
}

std::vector<std::byte> pack(DeviceProgram program, const Arrays& arrays) {
  std::size_t end = sizeof(DeviceProgram);
  program.lane_entries = place(end, arrays.lanes);
  program.channels = place(end, arrays.channels);
  program.ops = place(end, arrays.ops);
  program.operands = place(end, arrays.operands);
  program.sends = place(end, arrays.sends);
  program.bytes = static_cast<std::uint32_t>(end);
  std::vector<std::byte> bytes(end);
  std::memcpy(bytes.data(), &program, sizeof(program));
  put(bytes, program.lane_entries, arrays.lanes);
  put(bytes, program.channels, arrays.channels);
  put(bytes, program.ops, arrays.ops);
  put(bytes, program.operands, arrays.operands);
  put(bytes, program.sends, arrays.sends);
  return bytes;
}

void check_fit(const SizeRequest& request) {
  check(request.arena);
  const ArenaShape& arena = request.arena;
  const Schedule& schedule = request.schedule;
  const auto lanes = static_cast<std::uint32_t>(schedule.lanes);
  if (arena.ranks == static_cast<std::uint32_t>(schedule.ranks) && arena.packet_stripes >= lanes &&
      arena.depth >= static_cast<std::uint32_t>(request.traits.depth))
    return;
  refuse(schedule, request.rank, ErrorCode::configuration,
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

Traits traits_of(const Schedule& schedule, const std::vector<Program>& programs,
                 int longest_message) {
  Traits traits{.longest_message = longest_message};
  for (const Program& program : programs) {
    traits.scratch_slots = std::max(traits.scratch_slots, program.scratch_slots);
    traits.depth = std::max(traits.depth, program.depth);
    for (const Op& op : program.ops) {
      const bool adds = op.operands > 1;
      if (adds && op.operands != static_cast<std::uint32_t>(schedule.ranks))
        traits.adds_all = false;
    }
  }
  return traits;
}

std::vector<std::byte> encode(const Schedule& schedule, const Program& program, int rank) {
  const DeviceProgram made{.rank = static_cast<std::uint32_t>(rank),
                           .lanes = static_cast<std::uint32_t>(program.lanes),
                           .chunks = static_cast<std::uint32_t>(schedule.layout.chunks()),
                           .scratch_slots = static_cast<std::uint32_t>(program.scratch_slots)};
  return pack(made, Encoder(schedule, program, rank).run());
}

Sizes sizes_of(const SizeRequest& request) {
  check_fit(request);
  const Schedule& schedule = request.schedule;
  const Layout& layout = schedule.layout;
  const std::size_t element = size_of(request.type);
  const Partition partition(layout, request.count, element);
  const auto begin = [&](Buffer buffer) {
    const ChunkSpan span = held(schedule.collective, buffer, layout, request.rank, schedule.root);
    return partition.offset(span.first);
  };
  Sizes sizes{.recipe = recipe_of(request),
              .protocol = request.protocol,
              .element_bytes = static_cast<std::uint8_t>(element),
              .count = request.count,
              .parts = even_parts(request.count, layout.parts, element),
              .input_begin = begin(Buffer::input),
              .output_begin = begin(Buffer::output),
              .arena = request.arena};
  cut(request, partition.largest_chunk() * element, sizes);
  return sizes;
}

std::size_t scratch_bytes(const Sizes& sizes, int scratch_slots, int chunks) {
  return std::size_t{sizes.stripes} * static_cast<std::size_t>(scratch_slots) *
         static_cast<std::size_t>(chunks) * sizes.slice * sizes.element_bytes;
}

}  // namespace rondo::device
