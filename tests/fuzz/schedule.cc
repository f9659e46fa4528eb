// Schedules that a user wrote: the text, and the verifier on what it says.
#include <string>

#include "core/schedule/script.h"
#include "core/schedule/text.h"
#include "core/schedule/verify.h"
#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/fuzz/input.h"

namespace rondo::fuzz {
namespace {

/// Others take long to verify, and to write.
bool is_small(const Schedule& schedule) {
  constexpr int most_lanes = 4;
  constexpr int most_ranks = 8;
  constexpr int most_chunks = 64;
  constexpr unsigned most_operands = 64;
  constexpr int most_steps = 4096;
  int steps_left = most_steps;
  if (schedule.ranks > most_ranks || schedule.lanes > most_lanes ||
      schedule.layout.chunks() > most_chunks)
    return false;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next())
        if (step->operands > most_operands || --steps_left == 0) return false;
    }
  return true;
}

void read(const Schedule& schedule) {
  if (!is_small(schedule)) return;
  static_cast<void>(verify(schedule));
  const std::string written = to_text(schedule);
  const Schedule again = must_read([&] { return parse_schedule(written); });
  demand(to_text(again) == written, "a schedule is read as it was written");
}

/// For its own number of ranks, or for a few.
void read(std::string_view text) {
  try {
    const Script script = parse_script(text);
    if (script.only_ranks() != 0) return read(parse_schedule(text));
    for (const Topology& topology : {Topology{.ranks = 3}, on_hosts({2, 2}, Numbering::in_turn)})
      if (script.unfit(topology).empty()) read(script.build(topology, script.only_root(topology)));
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::fuzz::read(rondo::fuzz::Input(data, size).rest());
  return 0;
}
