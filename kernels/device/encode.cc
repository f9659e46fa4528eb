#include "kernels/device/encode.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "rondo/error.h"

namespace rondo::device {
namespace {

[[noreturn]] void refuse(const Schedule& schedule, int rank, std::string message,
                         std::string remedy) {
  throw Error(ErrorCode::invalid_argument, std::move(message),
              {.rank = rank,
               .call = std::string(name(schedule.collective)) + " by " + schedule.algorithm,
               .remedy = std::move(remedy)});
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
  std::vector<std::uint32_t> stores;
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
                  .first_store = static_cast<std::uint32_t>(arrays_.stores.size()),
                  .stores = op.stores,
                  .stage = op.stage,
                  .number = number,
                  .writes = op.writes ? std::uint16_t{1} : std::uint16_t{0},
                  .adds_all = adds && op.operands == ranks() ? std::uint16_t{1} : std::uint16_t{0},
                  .into = op.into,
                  .extent_first = op.extent.first,
                  .extent_count = op.extent.count};
    for (const Operand& operand : program_.operands_of(op)) {
      DeviceOperand& entry = arrays_.operands.emplace_back();
      entry.peer = operand.peer;
      entry.in_place = operand.in_place ? 1 : 0;
      entry.chunk = operand.chunk;
      if (operand.is_channel()) entry.in = numbering.receive(operand.peer);
    }
    arrays_.ops.push_back(made);
    add_stores(op);
    if (op.out_peer >= 0) add_send(op, numbering);
    last_ = &op;
  }

  /// From the next rank on, so that not all ranks store to the same one at a time.
  void add_stores(const Op& op) {
    const auto stores = program_.stores_of(op);
    std::vector<std::uint32_t> peers(stores.begin(), stores.end());
    const auto count = static_cast<std::uint32_t>(ranks());
    const auto hops = [&](std::uint32_t peer) {
      return (peer + count - static_cast<std::uint32_t>(rank_)) % count;
    };
    std::ranges::sort(peers, {}, hops);
    arrays_.stores.insert(arrays_.stores.end(), peers.begin(), peers.end());
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
      refuse(schedule_, rank_,
             "an op of " + std::to_string(op.operands) + " operands is too wide for the device",
             "an algorithm whose steps combine at most " + std::to_string(most_operands));
    }
    std::vector<bool> seen(ranks());
    for (const Operand& operand : program_.operands_of(op)) {
      if (!operand.is_channel()) continue;
      if (seen[static_cast<std::size_t>(operand.peer)]) {
        refuse(schedule_, rank_,
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
      if (operand.is_message()) operand.in.per_pass = numbering.received(operand.peer);
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
  const std::size_t begin = (end + alignof(T) - 1) / alignof(T) * alignof(T);
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
  program.stores = place(end, arrays.stores);
  program.bytes = static_cast<std::uint32_t>(end);
  std::vector<std::byte> bytes(end);
  std::memcpy(bytes.data(), &program, sizeof(program));
  put(bytes, program.lane_entries, arrays.lanes);
  put(bytes, program.channels, arrays.channels);
  put(bytes, program.ops, arrays.ops);
  put(bytes, program.operands, arrays.operands);
  put(bytes, program.sends, arrays.sends);
  put(bytes, program.stores, arrays.stores);
  return bytes;
}

}  // namespace

Traits traits_of(const Schedule& schedule, const std::vector<Program>& programs,
                 int longest_message) {
  Traits traits{.longest_message = longest_message};
  for (const Program& program : programs) {
    traits.scratch_slots = std::max(traits.scratch_slots, program.scratch_slots);
    traits.depth = std::max(traits.depth, program.depth);
    traits.stages = std::max(traits.stages, program.stages);
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
                           .scratch_slots = static_cast<std::uint32_t>(program.scratch_slots),
                           .stages = static_cast<std::uint32_t>(program.stages)};
  return pack(made, Encoder(schedule, program, rank).run());
}

}  // namespace rondo::device
