// Image: the device program. It is one rank's lowered program together with the sizes of a call,
// packed into bytes that hold no pointer. It is made once on the host (encode.h), copied to the
// device, and run any number of times. Nothing of it changes, so a captured graph can replay it.
//
//   Image | LaneEntry per lane | ChannelEntry ... | ImageOp ... | ImageOperand ... | offsets
//
// Passes: stripe s moves slices p * stripes + s of every chunk in pass p. Every op of every pass
// moves a message, even an empty one. So the number of a message follows from pass and op alone.
#pragma once

#include "core/schedule/step.h"
#include "kernels/device/arena.h"
#include "rondo/types.h"

namespace rondo::device {

/// How the messages of a call travel.
enum class Protocol : std::uint8_t {
  low_latency,  ///< 4 bytes of data beside 4 bytes of flag: no fence, half the bandwidth
  bulk,         ///< whole frames, published by a release and taken after an acquire
};

/// Where an array begins, in bytes from the start of the image, and its entries.
struct ImageArray {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct Image {
  static constexpr std::uint32_t current_version = 1;

  std::uint32_t version = current_version;
  std::uint32_t bytes = 0;  ///< of the whole image
  std::uint32_t rank = 0;
  std::uint32_t lanes = 1;
  std::uint32_t stripes = 1;  ///< in use by this call; the arena's at most
  std::uint32_t chunks = 0;
  DataType type = DataType::float32;
  ReduceOperator op = ReduceOperator::sum;
  Protocol protocol = Protocol::bulk;
  std::uint8_t element_bytes = 1;
  std::uint32_t scratch_slots = 0;
  std::uint64_t passes = 0;
  std::uint64_t slice = 0;        ///< elements of a chunk that a stripe moves in a pass, at most
  std::uint64_t input_begin = 0;  ///< first element that the user's input holds
  std::uint64_t output_begin = 0;
  double scale = 1.0;  ///< of the user's input: floats under avg
  ArenaShape arena{};
  ImageArray lane_entries{};
  ImageArray channels{};
  ImageArray ops{};
  ImageArray operands{};
  ImageArray offsets{};  ///< std::uint64_t: first element of each chunk, and the end
  std::uint32_t unused = 0;
};
static_assert(sizeof(Image) == 152 && alignof(Image) == 8, "packed: host and device agree on it");

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

struct ImageOp {
  std::uint32_t first_operand = 0;
  std::uint32_t operands = 0;
  std::int32_t out_peer = -1;  ///< < 0: no message leaves
  MessageNumber out{};
  std::uint32_t number = 0;  ///< in the program, for people
  std::uint32_t writes = 0;  ///< 1: `into` is valid
  Chunk into{};
  std::uint32_t extent_first = 0;
  std::uint32_t extent_count = 0;
};
static_assert(sizeof(ImageOp) == 48);

struct ImageOperand {
  std::int32_t peer = -1;  ///< >= 0: a message of this rank
  MessageNumber in{};
  Chunk chunk{};
};
static_assert(sizeof(ImageOperand) == 24);

/// The longest list of operands of one op: a team keeps their places beside each other.
inline constexpr std::uint32_t most_operands = 64;

}  // namespace rondo::device
