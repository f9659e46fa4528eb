#include "core/resident/programs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/plan/decide.h"
#include "core/plan/lower.h"
#include "core/plan/written.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"

namespace rondo::resident {
namespace {

/// Up to so many bytes of a message packets are faster: they need no fence and no second trip for a
/// flag, but twice the bytes. An assumption, as those of form.h.
constexpr std::size_t most_packet_bytes = std::size_t{16} << 10;

/// With more stages the slices of a program over channels overlap better than the meetings between
/// stages wait.
constexpr int most_stages = 2;

std::size_t largest_chunk(const Layout& layout, const Call& call) {
  const std::size_t element = size_of(call.type);
  return Partition(layout, call.count, element).largest_chunk() * element;
}

/// The protocol for the largest message.
device::Protocol protocol_of(const Schedule& schedule, const device::Traits& traits,
                             const Call& call) {
  if (traits.stages > 0) return device::Protocol::bulk;
  const auto chunks = static_cast<std::size_t>(traits.longest_message);
  return largest_chunk(schedule.layout, call) * chunks <= most_packet_bytes
             ? device::Protocol::low_latency
             : device::Protocol::bulk;
}

/// The buffers that lie at one offset on all ranks, in place or not: a rank finds its peers' by its own.
WindowUse alike_on_all_ranks(Collective collective) {
  return {.input = collective == Collective::all_reduce || collective == Collective::reduce_scatter,
          .output = collective != Collective::reduce_scatter};
}

/// None: its messages cannot be places in windows.
std::vector<Program> merged_programs(const Schedule& schedule) {
  const std::optional<Posted> posted = posted_in_windows(schedule.collective);
  if (!posted) return {};
  auto programs = merge(schedule, {.places = Places::buffers, .posted = *posted});
  if (!programs || programs->front().stages > most_stages || !verify(schedule, *programs).ok())
    return {};
  return *std::move(programs);
}

}  // namespace

bool Programs::has_room_for(const ProgramKey& key) const {
  return stored_.size() < most_programs || stored_.contains(key);
}

bool Programs::has_room_for(const Made& made) const {
  for (int rank = 0; rank < around_.ranks; ++rank)
    if (device::encode(made.stored.schedule, made.programs[static_cast<std::size_t>(rank)], rank)
            .size() > program_bytes)
      return false;
  return true;
}

bool Programs::fits(const Composition& composition, const Call& call) const {
  const Made of_call = made({composition, call.root});
  try {
    if (!has_room_for(of_call)) return false;
    device::sizes_of(request(of_call.stored, call));
  } catch (const Error&) {  // it has ops, or needs lanes, depth or scratch, that devices have not
    return false;
  }
  return true;
}

WindowUse Programs::windows_of(const Composition& composition, const Call& call) {
  const ProgramKey key{composition, call.root, true};
  auto found = merged_.find(key);
  if (found == merged_.end()) found = merged_.emplace(key, merged(key)).first;
  const auto& [windows, layout] = found->second;
  const bool is_short = windows.any() && largest_chunk(layout, call) <= most_packet_bytes;
  const bool is_long =
      call.collective == Collective::all_reduce &&
      index_space_bytes(call, around_.ranks) > shape_.stripes * most_bytes_in_stages;
  return is_short || is_long ? WindowUse{} : windows;
}

Programs::Merged Programs::merged(const ProgramKey& key) const {
  Made all;
  try {
    all = made(key);
    if (all.programs.empty() || !has_room_for(all)) return {};
  } catch (const Error&) {  // it has ops that devices have not
    return {};
  }
  const device::Traits& traits = all.stored.traits;
  // What is not added at once would be divided in parts. Scratch memory is for slices.
  const bool reduces = info(all.stored.schedule.collective).reduces;
  if ((reduces && !traits.adds_all) || traits.scratch_slots > 0) return {};
  Merged merged{.layout = all.stored.schedule.layout};
  for (const Program& program : all.programs) {
    for (const Use& use : program.uses) {
      const bool is_output = use.stores || use.chunk.buffer == Buffer::output;
      (is_output ? merged.windows.output : merged.windows.input) = true;
    }
  }
  const WindowUse alike = alike_on_all_ranks(all.stored.schedule.collective);
  const bool differ =
      (merged.windows.input && !alike.input) || (merged.windows.output && !alike.output);
  return differ ? Merged{} : merged;
}

const StoredProgram& Programs::find(const ProgramKey& key, const Store& store) {
  const auto found = stored_.find(key);
  if (found != stored_.end()) return found->second;
  return stored_.emplace(key, make(key, store)).first->second;
}

Programs::Made Programs::made(const ProgramKey& key) const {
  Made made{
      .stored = {.schedule = key.composition.build(around_, key.root), .number = stored_.size()}};
  const Schedule& schedule = made.stored.schedule;
  if (key.in_windows) {
    made.programs = merged_programs(schedule);
  } else if (key.composition.written) {
    made.programs = lower_written(schedule);
  } else {
    for (int rank = 0; rank < around_.ranks; ++rank) made.programs.push_back(lower(schedule, rank));
  }
  made.stored.traits = device::traits_of(schedule, made.programs, longest_message(schedule));
  return made;
}

StoredProgram Programs::make(const ProgramKey& key, const Store& store) const {
  auto [made, programs] = this->made(key);
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

device::SizeRequest Programs::request(const StoredProgram& program, const Call& call) const {
  return {.schedule = program.schedule,
          .traits = program.traits,
          .rank = rank_,
          .count = call.count,
          .type = call.type,
          .op = call.op,
          .protocol = protocol_of(program.schedule, program.traits, call),
          .arena = shape_,
          .most_scratch = scratch_bytes(shape_)};
}

}  // namespace rondo::resident
