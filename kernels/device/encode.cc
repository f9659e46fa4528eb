#include "kernels/device/encode.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>

#include "rondo/error.h"

namespace rondo::device {
namespace {

constexpr std::size_t vector_bytes = 16;

/// With fewer bytes than this, another stripe costs more in flags than its bandwidth gains.
constexpr std::size_t least_stripe_bytes = 4096;

[[noreturn]] void refuse(const EncodeRequest& request, ErrorCode code, std::string message,
                         std::string remedy) {
  throw Error(
      code, std::move(message),
      {.rank = request.rank,
       .call = std::string(name(request.schedule.collective)) + " by " + request.schedule.algorithm,
       .remedy = std::move(remedy)});
}

std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t largest_chunk(const Partition& partition) {
  std::size_t largest = 0;
  for (int chunk = 0; chunk < partition.layout().chunks(); ++chunk)
    largest = std::max(largest, partition.size(chunk));
  return largest;
}

/// Bytes of one chunk that a message can carry.
std::size_t room(const EncodeRequest& request) {
  const std::size_t payload = request.protocol == Protocol::bulk
                                  ? request.arena.frame_bytes
                                  : request.arena.packets * packet_payload;
  const std::size_t each = payload / static_cast<std::size_t>(request.longest_message);
  return each - each % vector_bytes;
}

/// Slices are whole vectors, so that every piece of a message is aligned.
void cut(const EncodeRequest& request, Image& image) {
  const std::size_t largest = largest_chunk(request.partition) * image.element_bytes;
  const bool tokens = request.schedule.collective == Collective::barrier;
  const std::size_t most = room(request);
  if (most == 0) {
    refuse(request, ErrorCode::configuration,
           "a message of " + std::to_string(request.longest_message) +
               " chunks does not fit into a slot of the arena",
           "make frame_bytes and packets larger, or choose another algorithm");
  }
  image.stripes = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(largest / least_stripe_bytes, 1, request.arena.stripes));
  const std::size_t share = rounded_up((largest + image.stripes - 1) / image.stripes, vector_bytes);
  const std::size_t slice = std::max(vector_bytes, std::min(most, share));
  image.slice = slice / image.element_bytes;
  image.passes = (largest + slice * image.stripes - 1) / (slice * image.stripes);
  if (tokens) image.passes = 1;
}

/// Numbers the messages of one lane, channel by channel.
class Numbering {
 public:
  explicit Numbering(std::uint32_t ranks) : entries_(ranks) {}

  MessageNumber send(std::int32_t peer) { return {at(peer).sent++, 0}; }
  MessageNumber receive(std::int32_t peer) { return {at(peer).received++, 0}; }
  std::uint32_t sent(std::int32_t peer) { return at(peer).sent; }
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

/// The arrays of an image before they are packed.
struct Arrays {
  std::vector<LaneEntry> lanes;
  std::vector<ChannelEntry> channels;
  std::vector<ImageOp> ops;
  std::vector<ImageOperand> operands;
  std::vector<std::uint64_t> offsets;
};

void add_op(const EncodeRequest& request, std::uint32_t number, Numbering& numbering,
            Arrays& arrays) {
  const Op& op = request.program.ops[number];
  if (op.operands > most_operands) {
    refuse(request, ErrorCode::invalid_argument,
           "an op of " + std::to_string(op.operands) + " operands is too wide for the device",
           "an algorithm whose steps combine at most " + std::to_string(most_operands));
  }
  ImageOp made{.first_operand = static_cast<std::uint32_t>(arrays.operands.size()),
               .operands = op.operands,
               .out_peer = op.out_peer,
               .number = number,
               .writes = op.writes ? 1u : 0u,
               .into = op.into,
               .extent_first = op.extent.first,
               .extent_count = op.extent.count};
  for (const Operand& operand : request.program.operands_of(op)) {
    ImageOperand& entry = arrays.operands.emplace_back();
    entry.peer = operand.peer;
    entry.chunk = operand.chunk;
    if (operand.is_channel()) entry.in = numbering.receive(operand.peer);
  }
  if (op.out_peer >= 0) made.out = numbering.send(op.out_peer);
  arrays.ops.push_back(made);
}

void add_lane(const EncodeRequest& request, std::uint32_t lane, Arrays& arrays) {
  LaneEntry entry{.first_op = static_cast<std::uint32_t>(arrays.ops.size()),
                  .first_channel = static_cast<std::uint32_t>(arrays.channels.size())};
  const std::size_t first_operand = arrays.operands.size();
  Numbering numbering(request.arena.ranks);
  for (std::uint32_t number = 0; number < request.program.ops.size(); ++number) {
    if (request.program.ops[number].lane == lane) add_op(request, number, numbering, arrays);
  }
  for (std::size_t i = entry.first_op; i < arrays.ops.size(); ++i) {
    ImageOp& op = arrays.ops[i];
    if (op.out_peer >= 0) op.out.per_pass = numbering.sent(op.out_peer);
  }
  for (std::size_t i = first_operand; i < arrays.operands.size(); ++i) {
    ImageOperand& operand = arrays.operands[i];
    if (operand.peer >= 0) operand.in.per_pass = numbering.received(operand.peer);
  }
  for (const ChannelEntry& used : numbering.entries()) arrays.channels.push_back(used);
  entry.ops = static_cast<std::uint32_t>(arrays.ops.size()) - entry.first_op;
  entry.channels = static_cast<std::uint32_t>(arrays.channels.size()) - entry.first_channel;
  arrays.lanes.push_back(entry);
}

Arrays arrays_of(const EncodeRequest& request) {
  Arrays arrays;
  for (int lane = 0; lane < request.program.lanes; ++lane)
    add_lane(request, static_cast<std::uint32_t>(lane), arrays);
  for (int chunk = 0; chunk <= request.partition.layout().chunks(); ++chunk)
    arrays.offsets.push_back(request.partition.offset(chunk));
  return arrays;
}

/// The place for entries after `end` bytes. It moves the end.
template <class T>
ImageArray place(std::size_t& end, const std::vector<T>& entries) {
  const std::size_t begin = rounded_up(end, alignof(T));
  end = begin + entries.size() * sizeof(T);
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(entries.size())};
}

template <class T>
void put(std::vector<std::byte>& bytes, ImageArray where, const std::vector<T>& entries) {
  std::ranges::copy(std::as_bytes(std::span(entries)), bytes.begin() + where.begin);
}

std::vector<std::byte> pack(Image image, const Arrays& arrays) {
  std::size_t end = sizeof(Image);
  image.lane_entries = place(end, arrays.lanes);
  image.channels = place(end, arrays.channels);
  image.ops = place(end, arrays.ops);
  image.operands = place(end, arrays.operands);
  image.offsets = place(end, arrays.offsets);
  image.bytes = static_cast<std::uint32_t>(end);
  std::vector<std::byte> bytes(end);
  std::memcpy(bytes.data(), &image, sizeof(image));
  put(bytes, image.lane_entries, arrays.lanes);
  put(bytes, image.channels, arrays.channels);
  put(bytes, image.ops, arrays.ops);
  put(bytes, image.operands, arrays.operands);
  put(bytes, image.offsets, arrays.offsets);
  return bytes;
}

void check_fit(const EncodeRequest& request) {
  check(request.arena);
  const ArenaShape& arena = request.arena;
  if (arena.ranks != static_cast<std::uint32_t>(request.schedule.ranks) ||
      arena.lanes < static_cast<std::uint32_t>(request.program.lanes) ||
      arena.depth < static_cast<std::uint32_t>(request.program.depth)) {
    refuse(request, ErrorCode::configuration,
           "a program of " + std::to_string(request.schedule.ranks) + " ranks, " +
               std::to_string(request.program.lanes) + " lanes and depth " +
               std::to_string(request.program.depth) + " does not fit into an arena of " +
               std::to_string(arena.ranks) + " ranks, " + std::to_string(arena.lanes) +
               " lanes and depth " + std::to_string(arena.depth),
           "make the arena for the widest program of the group");
  }
}

}  // namespace

void check(const ArenaShape& shape) {
  const bool positive = shape.ranks > 0 && shape.lanes > 0 && shape.stripes > 0 &&
                        shape.depth > 0 && shape.frame_bytes > 0 && shape.packets > 0 &&
                        shape.mailbox > 0 && shape.wipe_interval > 0;
  const bool flags = std::has_single_bit(shape.flag_period) && shape.flag_period <= 1u << 31 &&
                     std::uint64_t{shape.wipe_interval} * shape.depth * 2 <= shape.flag_period;
  if (positive && flags && shape.frame_bytes % vector_bytes == 0) return;
  throw Error(ErrorCode::configuration,
              "the shape of an arena is not valid: ranks " + std::to_string(shape.ranks) +
                  ", lanes " + std::to_string(shape.lanes) + ", stripes " +
                  std::to_string(shape.stripes) + ", depth " + std::to_string(shape.depth) +
                  ", frame_bytes " + std::to_string(shape.frame_bytes) + ", packets " +
                  std::to_string(shape.packets) + ", mailbox " + std::to_string(shape.mailbox) +
                  ", flag_period " + std::to_string(shape.flag_period) + ", wipe_interval " +
                  std::to_string(shape.wipe_interval),
              {.remedy = "numbers above 0, and frame_bytes a multiple of 16. flag_period must be a "
                         "power of two from 2 * depth * wipe_interval to 2^31"});
}

std::vector<std::byte> encode(const EncodeRequest& request) {
  check_fit(request);
  const Schedule& schedule = request.schedule;
  const Layout& layout = schedule.layout;
  const auto begin = [&](Buffer buffer) {
    const ChunkSpan span = held(schedule.collective, buffer, layout, request.rank, schedule.root);
    return request.partition.offset(span.first);
  };
  Image image{.rank = static_cast<std::uint32_t>(request.rank),
              .lanes = static_cast<std::uint32_t>(request.program.lanes),
              .chunks = static_cast<std::uint32_t>(layout.chunks()),
              .type = request.type,
              .op = request.op,
              .protocol = request.protocol,
              .element_bytes = static_cast<std::uint8_t>(size_of(request.type)),
              .scratch_slots = static_cast<std::uint32_t>(request.program.scratch_slots),
              .input_begin = begin(Buffer::input),
              .output_begin = begin(Buffer::output),
              .arena = request.arena};
  const bool averages = info(schedule.collective).reduces && request.op == ReduceOperator::avg;
  if (averages && request.type >= DataType::float16) image.scale = 1.0 / schedule.ranks;
  cut(request, image);
  return pack(image, arrays_of(request));
}

std::size_t scratch_bytes(const Image& image) {
  return std::size_t{image.stripes} * image.scratch_slots * image.chunks * image.slice *
         image.element_bytes;
}

}  // namespace rondo::device
