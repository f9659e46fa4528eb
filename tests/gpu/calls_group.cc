#include "tests/gpu/calls_group.h"

#include <new>

namespace rondo::gpu_test {
namespace {

using resident::Choice;

/// How often a wait looks before it gives up: for more than ten seconds, also on the stand-in.
constexpr std::uint64_t patience = 40'000'000;

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

/// What a rank has on the device.
struct CallGroup::Rank {
  Rank(int number, int ranks)
      : number(static_cast<std::size_t>(number)),
        programs(number, around(ranks), shape(ranks)),
        arena(device::ArenaPlaces(shape(ranks)).bytes()),
        scratch(resident::scratch_bytes(shape(ranks))),
        control(sizeof(device::Control)) {
    (new (control.data()) device::Control())->patience = patience;
  }
  device::Control* reached_control() const {
    return reinterpret_cast<device::Control*>(control.device_address(control.data()));
  }
  const device::Failure* failure() const {
    return device::failure_of(*std::launder(reinterpret_cast<device::Control*>(control.data())));
  }

  std::size_t number;
  resident::Programs programs;
  DeviceBytes arena;
  DeviceBytes scratch;
  std::vector<std::unique_ptr<DeviceBytes>> stored{};  ///< programs, by number
  cuda::PinnedMemory control;
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
  for (const auto& member : members_) member->stream.finish();
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
  const Rank& member = *members_[static_cast<std::size_t>(rank)];
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
  if (key.in_windows)
    made.windows = windows_of(request, member.programs.windows_of(key.composition, call), buffers);
  kernels_.launch(made, stored.lanes() * made.sizes.stripes, member.stream);
}

}  // namespace rondo::gpu_test
