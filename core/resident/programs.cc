#include "core/resident/programs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/plan/lower.h"
#include "core/plan/written.h"
#include "rondo/error.h"

namespace rondo::resident {
namespace {

/// Up to so many bytes of a message packets are faster: they need no fence and no second trip for a
/// flag, but twice the bytes. An assumption, as those of form.h.
constexpr std::size_t most_packet_bytes = std::size_t{16} << 10;

/// The protocol for the largest message.
device::Protocol protocol_of(const Schedule& schedule, const device::Traits& traits,
                             const Call& call) {
  const std::size_t element = size_of(call.type);
  const std::size_t chunk = Partition(schedule.layout, call.count, element).largest_chunk();
  const std::size_t longest = chunk * element * static_cast<std::size_t>(traits.longest_message);
  return longest <= most_packet_bytes ? device::Protocol::low_latency : device::Protocol::bulk;
}

}  // namespace

bool Programs::has_room_for(const Composition& composition, int root) const {
  return stored_.size() < most_programs || stored_.contains({composition, root});
}

bool Programs::fits(const Composition& composition, const Call& call) const {
  const Made made = lowered(composition, call.root);
  try {
    for (int rank = 0; rank < around_.ranks; ++rank)
      if (device::encode(made.stored.schedule, made.programs[static_cast<std::size_t>(rank)], rank)
              .size() > program_bytes)
        return false;
    sizes_of(made.stored, call);
  } catch (const Error&) {  // it has ops, or needs lanes, depth or scratch, that devices have not
    return false;
  }
  return true;
}

const StoredProgram& Programs::find(const Composition& composition, int root, const Store& store) {
  const auto found = stored_.find({composition, root});
  if (found != stored_.end()) return found->second;
  return stored_.emplace(std::pair(composition, root), make(composition, root, store))
      .first->second;
}

Programs::Made Programs::lowered(const Composition& composition, int root) const {
  Made made{.stored = {.schedule = composition.build(around_, root), .number = stored_.size()}};
  const Schedule& schedule = made.stored.schedule;
  if (composition.written) {
    made.programs = lower_written(schedule);
  } else {
    for (int rank = 0; rank < around_.ranks; ++rank) made.programs.push_back(lower(schedule, rank));
  }
  made.stored.traits = device::traits_of(schedule, made.programs, longest_message(schedule));
  return made;
}

StoredProgram Programs::make(const Composition& composition, int root, const Store& store) const {
  auto [made, programs] = lowered(composition, root);
  const std::vector<std::byte> program =
      device::encode(made.schedule, programs[static_cast<std::size_t>(rank_)], rank_);
  if (program.size() > program_bytes || made.number >= most_programs) {
    throw Error(ErrorCode::internal,
                "program " + std::to_string(made.number) + ", " + made.schedule.algorithm +
                    ", has " + std::to_string(program.size()) + " bytes: there is no place for it");
  }
  store(made.number, program);
  return made;
}

device::Sizes Programs::sizes_of(const StoredProgram& program, const Call& call) const {
  return device::sizes_of({.schedule = program.schedule,
                           .traits = program.traits,
                           .rank = rank_,
                           .count = call.count,
                           .type = call.type,
                           .op = call.op,
                           .protocol = protocol_of(program.schedule, program.traits, call),
                           .arena = shape_,
                           .most_scratch = scratch_bytes(shape_)});
}

}  // namespace rondo::resident
