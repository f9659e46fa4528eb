// What a trace is made of: one Event for each thing that happened to a call on this rank.
//
//   by messages   begin   op_begin op_end op_begin op_end ...   end
//   directly      begin   shown    seen   stepped [stepped]     end
//
// An op (core/schedule/program.h) begins when its messages are there and its slot is free:
// received, or the send's begin. It ends when its result is reduced, written and handed to the
// channel.
#pragma once

#include <cstdint>

namespace rondo::trace {

enum class EventKind : std::uint8_t {
  begin,     ///< place: the call's form (see Recorder); pass: low half of its sequence
  op_begin,  ///< place: number of the op in its program; pass: which slice
  op_end,    ///< likewise; bytes: of each message of the op
  shown,     ///< the direct path: this rank's input, or where it lies, can be seen
  seen,      ///< all slots that this rank waits for are there
  stepped,   ///< place: 1 after the first of two rounds, 2 after the last; pass: the SharedForm
  end,       ///< place: 1 where the call took the direct path, 0 by messages
};

/// 32 bytes: half a cache line, a million are 32 MB.
struct Event {
  std::uint64_t time = 0;  ///< nanoseconds of this rank's steady clock
  std::uint32_t call = 0;  ///< numbered from 1 in the order in which this rank began them
  std::uint32_t place = 0;
  std::uint32_t pass = 0;
  std::uint32_t bytes = 0;
  EventKind kind = EventKind::begin;
};
static_assert(sizeof(Event) == 32);

}  // namespace rondo::trace
