// DeviceProgram: one rank's lowered program, packed into bytes that hold no pointer and no size. It
// is made once for a schedule (encode.h) and copied to the device, where every call finds it.
//
//   DeviceProgram | LaneEntry per lane | ChannelEntry ... | DeviceOp ... | DeviceOperand ... |
//   DeviceSend ... | ranks to store to ...
//
// A merged program (core/plan/merge.h) has places in the ranks' windows in place of channels. It goes
// through stages, and has one pass.
//
// Sizes: what a call adds to it. They are a kernel's arguments, so a captured graph keeps them.
//
// Passes: a stripe has a part of every chunk, in one piece, and moves a slice of it in each pass:
//
//   stripe 0      |-------|-------|-------|         of 4 stripes, 3 passes
//   stripe 1      |-----|-------|-------|-|         the first slice is shorter, and there is one more
//   stripe 2      |---|-------|-------|---|
//
// So stripes are out of step: while the teams of some read memory, those of others use the links. Every
// op of every pass moves a message, even an empty one. So the number of a message follows from pass
// and op alone.
#pragma once

#include "core/schedule/parts.h"
#include "core/schedule/step.h"
#include "kernels/device/arena.h"
#include "kernels/device/combine.h"
#include "rondo/types.h"

namespace rondo::device {

/// How the messages of a call travel.
enum class Protocol : std::uint8_t {
  low_latency,  ///< 4 bytes of data beside 4 bytes of flag: no fence, half the bandwidth
  bulk,         ///< whole frames, published by a release and taken after an acquire
};

/// Where an array begins, in bytes from the start of the program, and its entries.
struct ProgramArray {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct DeviceProgram {
  std::uint32_t bytes = 0;  ///< of the whole program
  std::uint32_t rank = 0;
  std::uint32_t lanes = 1;
  std::uint32_t chunks = 0;
  std::uint32_t scratch_slots = 0;
  ProgramArray lane_entries{};
  ProgramArray channels{};
  ProgramArray ops{};
  ProgramArray operands{};
  ProgramArray sends{};
  ProgramArray stores{};
  std::uint32_t stages = 0;  ///< of a merged program; 0: it has channels
};
static_assert(sizeof(DeviceProgram) == 72, "packed: host and device agree on it");

/// The part of ops and channels that one lane uses.
struct LaneEntry {
  std::uint32_t first_op = 0;
  std::uint32_t ops = 0;
  std::uint32_t first_channel = 0;
  std::uint32_t channels = 0;
};
static_assert(sizeof(LaneEntry) == 16);

/// What one pass of a lane sends to a peer and receives from it.
struct ChannelEntry {
  std::uint32_t peer = 0;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
};
static_assert(sizeof(ChannelEntry) == 12);

/// A message's place in the order of its channel.
struct MessageNumber {
  std::uint32_t index = 0;     ///< within a pass
  std::uint32_t per_pass = 0;  ///< messages a pass

  constexpr std::uint64_t step(std::uint64_t before, std::uint64_t pass) const {
    return before + pass * per_pass + index;
  }
};

/// A message that an op sends: the same result to each of some peers.
struct DeviceSend {
  std::uint32_t peer = 0;
  MessageNumber out{};
};
static_assert(sizeof(DeviceSend) == 12);

struct DeviceOp {
  std::uint32_t first_operand = 0;
  std::uint32_t operands = 0;
  std::uint32_t first_send = 0;
  std::uint32_t sends = 0;  ///< one to a peer at most
  std::uint32_t first_store = 0;
  std::uint32_t stores = 0;    ///< ranks whose `into` takes the result, too
  std::uint32_t stage = 0;     ///< of a merged program
  std::uint32_t number = 0;    ///< in the program, for people
  std::uint16_t writes = 0;    ///< 1: `into` is valid
  std::uint16_t adds_all = 0;  ///< 1: it adds the contributions of all ranks
  Chunk into{};
  std::uint32_t extent_first = 0;
  std::uint32_t extent_count = 0;
};
static_assert(sizeof(DeviceOp) == 56);

struct DeviceOperand {
  std::int32_t peer = -1;      ///< >= 0: a message of this rank, or a place
  std::uint32_t in_place = 0;  ///< 1: `chunk` lies in the peer's window
  MessageNumber in{};
  Chunk chunk{};

  constexpr bool is_message() const { return peer >= 0 && in_place == 0; }
};
static_assert(sizeof(DeviceOperand) == 28);

/// The longest list of operands of one op: a team keeps their places beside each other.
inline constexpr std::uint32_t most_operands = 64;

/// The sizes of one call, equal on all ranks but for what begins at a rank's own elements and
/// `recipe.before`.
struct Sizes {
  Recipe recipe{};
  Protocol protocol = Protocol::bulk;
  std::uint8_t element_bytes = 1;
  std::uint32_t stripes = 1;      ///< in use by this call, of each lane
  std::uint64_t passes = 0;       ///< of whole slices
  std::uint64_t slice = 0;        ///< elements of a chunk that a stripe moves in a pass, at most
  std::uint64_t count = 0;        ///< elements of a block
  Parts parts{};                  ///< of a block
  std::uint64_t input_begin = 0;  ///< first element that the user's input holds
  std::uint64_t output_begin = 0;
  ArenaShape arena{};

  /// Elements by which the first slice of a stripe is shorter. Slices begin at whole vectors.
  constexpr std::uint64_t shorter(std::uint32_t stripe) const {
    const std::uint64_t vector = vector_bytes / element_bytes;
    return passes < 2 ? 0 : slice * stripe / stripes / vector * vector;
  }
  /// First element of `chunk`; after the last one, the end of the index space.
  constexpr std::uint64_t offset(std::uint32_t chunk) const {
    const std::uint32_t block = chunk / parts.parts;
    const std::uint32_t part = chunk % parts.parts;
    return block * count + (part == 0 ? 0 : parts.begin(part));
  }
};

}  // namespace rondo::device
