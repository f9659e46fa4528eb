#include "tests/gpu/calls_group.h"

#include <algorithm>
#include <new>
#include <string>

namespace rondo::gpu_test {
namespace {

using resident::Choice;

/// How often a wait looks before it gives up: for more than ten seconds, also on the stand-in.
constexpr std::uint32_t patience = 40'000'000;

/// All ranks share one device.
Topology around(int ranks) { return {.ranks = ranks, .one_machine = true, .direct = true}; }
device::ArenaShape shape(int ranks) {
  return resident::arena_shape(ranks, resident::most_small_stripes);
}

device::WindowAddresses windows_of(const device::SizeRequest& request, resident::WindowUse use,
                                   const std::vector<Buffers>& buffers) {
  std::vector<std::byte*> inputs, outputs;
  for (const Buffers& each : buffers) {
    if (use.input) inputs.push_back(const_cast<std::byte*>(each.input));
    if (use.output) outputs.push_back(each.output);
  }
  return device::windows_of(request, inputs, outputs);
}

}  // namespace

int ranks_that_fit(int wanted) {
  const unsigned blocks = cuda::ResidentKernels::of(test::device_context(0)).blocks_at_once();
  return std::min(wanted, static_cast<int>(blocks / resident::most_small_stripes));
}

/// What a rank has on the device.
struct CallGroup::Rank {
  Rank(int number, int ranks)
      : number(static_cast<std::size_t>(number)),
        programs(number, around(ranks), shape(ranks)),
        arena(device::ArenaPlaces(shape(ranks)).bytes()),
        scratch(resident::scratch_bytes(shape(ranks))),
        control(sizeof(device::Control)),
        blocks_ended(sizeof(std::uint64_t)) {
    (new (control.data()) device::Control())->patience = patience;
  }
  device::Control* reached_control() const {
    return reinterpret_cast<device::Control*>(control.device_address(control.data()));
  }
  const device::Failure* failure() const {
    return device::failure_of(*std::launder(reinterpret_cast<device::Control*>(control.data())));
  }

  std::uint32_t* word(std::size_t index) const {
    return reinterpret_cast<std::uint32_t*>(words.data()) + index;
  }
  /// Of its next launch.
  device::Marks next_marks() {
    const auto mark = [&](std::size_t index) {
      return device::Mark{reinterpret_cast<std::uint32_t*>(words.device_address(word(index))),
                          launches};
    };
    ++launches;
    return {.blocks_ended = reinterpret_cast<std::uint64_t*>(blocks_ended.data()),
            .begun = {mark(0)},
            .ended = {mark(1)}};
  }

  std::size_t number;
  resident::Programs programs;
  DeviceBytes arena;
  DeviceBytes scratch;
  std::vector<std::unique_ptr<DeviceBytes>> stored{};  ///< programs, by number
  cuda::PinnedMemory control;
  DeviceBytes blocks_ended;
  cuda::PinnedMemory words{2 * sizeof(std::uint32_t)};  ///< the newest launch that began, and ended
  std::uint32_t launches = 0;
  test::DeviceStream stream{};
};

CallGroup::CallGroup(int ranks, std::string_view algorithm)
    : kernels_(cuda::ResidentKernels::of(test::device_context(0))),
      selection_(algorithm, "this program") {
  std::vector<std::byte*> places;
  for (int number = 0; number < ranks; ++number) {
    members_.push_back(std::make_unique<Rank>(number, ranks));
    places.push_back(members_.back()->arena.data());
  }
  arenas_ = std::make_unique<test::DeviceBuffer<std::byte*>>(places);
}

CallGroup::~CallGroup() = default;

cuda::Stream CallGroup::stream(int rank) const {
  return members_[static_cast<std::size_t>(rank)]->stream;
}

Choice CallGroup::choose(const Call& call) const {
  return resident::choose(call, around(ranks()), selection_);
}

bool CallGroup::uses_windows(const Call& call) {
  const Choice choice = choose(call);
  return choice.form == resident::Form::program &&
         members_.front()->programs.windows_of(choice.composition, call).any();
}

void CallGroup::launch(const Call& call, const std::vector<Buffers>& buffers, bool in_windows) {
  const Choice choice = choose(call);
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (choice.form == resident::Form::small) {
      launch_small(call, choice, rank, buffers[place]);
    } else {
      launch_program(call, {choice.composition, call.root, in_windows}, *members_[place], buffers);
    }
  }
}

void CallGroup::finish() const {
  for (const auto& member : members_) {
    member->stream.finish();
    if (*member->word(0) == member->launches && *member->word(1) == member->launches) continue;
    throw Error(ErrorCode::system,
                "launch " + std::to_string(member->launches) + " of rank " +
                    std::to_string(member->number) + " has marked the begin of launch " +
                    std::to_string(*member->word(0)) + " and the end of launch " +
                    std::to_string(*member->word(1)));
  }
}

std::string CallGroup::failure() const {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (const device::Failure* const failure = members_[rank]->failure())
      return "rank " + std::to_string(rank) + " gave up waiting for rank " +
             std::to_string(failure->peer);
  }
  return {};
}

void CallGroup::launch_small(const Call& call, const Choice& choice, int rank,
                             const Buffers& buffers) const {
  Rank& member = *members_[static_cast<std::size_t>(rank)];
  device::SmallCall small;
  small.input = buffers.input;
  small.output = buffers.output;
  small.arenas = arenas_->data();
  small.control = member.reached_control();
  small.arena = shape(ranks());
  small.rank = static_cast<std::uint32_t>(rank);
  small.count = call.count;
  small.recipe = {.type = call.type, .op = call.op};
  small.algorithm = choice.small;
  small.stripes = choice.stripes;
  small.marks = member.next_marks();
  kernels_.launch(small, member.stream);
}

void CallGroup::launch_program(const Call& call, const resident::ProgramKey& key, Rank& member,
                               const std::vector<Buffers>& buffers) const {
  const resident::StoredProgram& stored =
      member.programs.find(key, [&](std::size_t, std::span<const std::byte> program) {
        member.stored.push_back(
            std::make_unique<DeviceBytes>(std::vector<std::byte>(program.begin(), program.end())));
      });
  const device::SizeRequest request = member.programs.request(stored, call);
  device::RankContext made;
  made.program = member.stored[stored.number]->data();
  made.input = buffers[member.number].input;
  made.output = buffers[member.number].output;
  made.scratch = member.scratch.data();
  made.arenas = arenas_->data();
  made.control = member.reached_control();
  made.sizes = device::sizes_of(request);
  made.marks = member.next_marks();
  if (key.in_windows)
    made.windows = windows_of(request, member.programs.windows_of(key.composition, call), buffers);
  kernels_.launch(made, stored.lanes() * made.sizes.stripes, member.stream);
}

}  // namespace rondo::gpu_test
