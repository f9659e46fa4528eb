// Schedules that a user wrote: the text, and the verifier on what it says.
#include <string>

#include "core/schedule/text.h"
#include "core/schedule/verify.h"
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
  if (schedule.ranks > most_ranks || schedule.lanes > most_lanes ||
      schedule.layout.chunks() > most_chunks)
    return false;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    for (int lane = 0; lane < schedule.lanes; ++lane) {
      Steps steps = schedule.steps(rank, lane);
      while (const Step* step = steps.next())
        if (step->operands > most_operands) return false;
    }
  return true;
}

void read(std::string_view text) {
  try {
    const Schedule schedule = parse_schedule(text);
    if (!is_small(schedule)) return;
    static_cast<void>(verify(schedule));
    const std::string written = to_text(schedule);
    const Schedule again = must_read([&] { return parse_schedule(written); });
    demand(to_text(again) == written, "a schedule is read as it was written");
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::fuzz::read(rondo::fuzz::Input(data, size).rest());
  return 0;
}
