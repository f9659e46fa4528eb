// A schedule is a sequence of five kinds of step over chunks. Grammar, one rank's view:
//
//   send            from -> peer               the peer gets the chunk's value
//   receive         peer -> into
//   receive_reduce  peer, from -> into         into = received (op) from, or from (op) received
//   reduce          from[0] (op) from[1] ... -> into
//                                              operands are one chunk in consecutive scratch slots
//   copy            from -> into
//
// A chunk is a piece of the collective's index space (see layout.h). So the same number means the
// same elements in every buffer. `from` and `into` may differ: no copy is needed to be out of
// place.
#pragma once

#include <compare>
#include <cstdint>

namespace rondo {

/// `input` and `output` are the user's and may be the same memory: after a step has written
/// output[c], input[c] must not be read again. `scratch` has numbered slots, each as large as the
/// whole index space.
enum class Buffer : std::uint8_t { input, output, scratch };

/// `count` chunks from `first` on, wrapping after the layout's last chunk to 0.
struct Chunk {
  Buffer buffer = Buffer::input;
  std::uint8_t unused = 0;
  std::uint16_t slot = 0;  ///< scratch only
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  friend auto operator<=>(const Chunk&, const Chunk&) = default;
};
static_assert(sizeof(Chunk) == 12, "chunks are packed into steps and programs");

constexpr Chunk input(int first, int count = 1) {
  return {Buffer::input, 0, 0, static_cast<std::uint32_t>(first),
          static_cast<std::uint32_t>(count)};
}
constexpr Chunk output(int first, int count = 1) {
  return {Buffer::output, 0, 0, static_cast<std::uint32_t>(first),
          static_cast<std::uint32_t>(count)};
}
constexpr Chunk scratch(int slot, int first, int count = 1) {
  return {Buffer::scratch, 0, static_cast<std::uint16_t>(slot), static_cast<std::uint32_t>(first),
          static_cast<std::uint32_t>(count)};
}

enum class StepKind : std::uint8_t { send, receive, receive_reduce, reduce, copy };

/// Which side of a receive_reduce comes first. Every rank must end with the same order of operands.
enum class Order : std::uint8_t { received_first, local_first };

struct Step {
  StepKind kind = StepKind::copy;
  Order order = Order::received_first;
  std::uint16_t phase = 0;     ///< index into the schedule's phase names
  std::uint32_t round = 0;     ///< 0-based within the phase; for people, not for execution
  std::uint32_t operands = 1;  ///< reduce: how many scratch slots, from.slot onwards
  std::int32_t peer = -1;      ///< send, receive, receive_reduce
  Chunk from{};
  Chunk into{};

  /// Labels the step: `co_yield send(next, input(3)).at(phase, round)`.
  constexpr Step at(int phase_index, int round_number) const {
    Step labelled = *this;
    labelled.phase = static_cast<std::uint16_t>(phase_index);
    labelled.round = static_cast<std::uint32_t>(round_number);
    return labelled;
  }
  friend bool operator==(const Step&, const Step&) = default;
};
static_assert(sizeof(Step) == 40, "steps are streamed by the million");

constexpr Step send(int peer, Chunk from) {
  return {.kind = StepKind::send, .peer = peer, .from = from};
}
constexpr Step receive(int peer, Chunk into) {
  return {.kind = StepKind::receive, .peer = peer, .into = into};
}
constexpr Step receive_reduce(int peer, Chunk from, Chunk into,
                              Order order = Order::received_first) {
  return {
      .kind = StepKind::receive_reduce, .order = order, .peer = peer, .from = from, .into = into};
}
/// into = from.slot (op) from.slot+1 (op) ... , rounded once.
constexpr Step reduce(Chunk from, int operands, Chunk into) {
  return {.kind = StepKind::reduce,
          .operands = static_cast<std::uint32_t>(operands),
          .from = from,
          .into = into};
}
constexpr Step copy(Chunk from, Chunk into) {
  return {.kind = StepKind::copy, .from = from, .into = into};
}

}  // namespace rondo
