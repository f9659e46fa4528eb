// Co-resident kernels (kernels/cuda/calls.cu) of ranks that share one GPU and one context. Each
// rank has a launch in its own stream. Results are compared with the reference, then calls are
// timed. libnccl does not do this, because streams may share a queue of the device. This program
// finds out whether they do.
#include <chrono>
#include <new>

#include "algorithms/table.h"
#include "core/cuda/kernels.h"
#include "core/cuda/pinned.h"
#include "core/resident/form.h"
#include "core/resident/programs.h"
#include "core/schedule/layout.h"
#include "tests/device/placed.h"
#include "tests/gpu/obstacle.h"
#include "tests/gpu/report.h"
#include "tests/nccl/between_devices.h"

namespace rondo::gpu_test {
namespace {

using resident::Choice;
using resident::Form;
using test::DeviceStream;
using Bytes = std::vector<std::byte>;
using DeviceBytes = test::DeviceBuffer<std::byte>;

/// Of all blocks, in the largest call that is checked.
constexpr std::size_t most_bytes = std::size_t{16} << 20;
/// How often a wait looks before it gives up: for more than ten seconds, also on the stand-in.
constexpr std::uint64_t patience = 40'000'000;
const std::vector<Collective> collectives{
    Collective::all_reduce, Collective::reduce_scatter, Collective::reduce,  Collective::all_gather,
    Collective::broadcast,  Collective::all_to_all,     Collective::scatter, Collective::gather};

/// All ranks share one device.
Topology around(int ranks) { return {.ranks = ranks, .one_machine = true, .direct = true}; }
device::ArenaShape shape(int ranks) {
  return resident::arena_shape(ranks, resident::most_small_stripes);
}
Choice choose(const Call& call, int ranks) { return resident::choose(call, around(ranks), {}); }

/// What a rank has on the device.
struct Rank {
  Rank(int number, int ranks)
      : programs(number, around(ranks), shape(ranks)),
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

  resident::Programs programs;
  DeviceBytes arena;
  DeviceBytes scratch;
  std::vector<std::unique_ptr<DeviceBytes>> stored{};  ///< programs, by number
  cuda::PinnedMemory control;
  DeviceStream stream{};
  std::unique_ptr<DeviceBytes> input{};
  std::unique_ptr<DeviceBytes> output{};
};

/// Makes one call of all ranks after another, in the same arenas.
class Group {
 public:
  explicit Group(int ranks)
      : ranks_(ranks), kernels_(cuda::ResidentKernels::of(test::device_context(0))) {
    std::vector<std::byte*> places;
    for (int number = 0; number < ranks; ++number) {
      members_.push_back(std::make_unique<Rank>(number, ranks));
      places.push_back(members_.back()->arena.data());
    }
    arenas_ = std::make_unique<test::DeviceBuffer<std::byte*>>(places);
  }

  /// Outputs have room for these and are zero.
  void place(const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs) {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      members_[rank]->input = std::make_unique<DeviceBytes>(never_empty(inputs[rank]));
      members_[rank]->output =
          std::make_unique<DeviceBytes>(never_empty(Bytes(outputs[rank].size())));
    }
  }

  void launch(const Call& call) {
    const Choice choice = choose(call, ranks_);
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (choice.form == Form::small) {
        launch_small(call, choice, rank);
      } else {
        launch_program(call, choice.composition, *members_[rank]);
      }
    }
  }

  /// What the first wait to give up waited for, in words; empty: none did.
  std::string finish() const {
    std::string words;
    for (const auto& member : members_) member->stream.finish();
    for (std::size_t rank = 0; rank < members_.size() && words.empty(); ++rank) {
      if (const device::Failure* const failure = members_[rank]->failure())
        words = "rank " + std::to_string(rank) + " gave up waiting for rank " +
                std::to_string(failure->peer);
    }
    return words;
  }

  Bytes output(std::size_t rank, std::size_t bytes) const {
    Bytes content = members_[rank]->output->get();
    content.resize(bytes);
    return content;
  }

 private:
  /// A driver gives no memory of 0 bytes.
  static Bytes never_empty(Bytes content) {
    if (content.empty()) content.resize(1);
    return content;
  }
  void launch_small(const Call& call, const Choice& choice, std::size_t rank) const {
    const Rank& member = *members_[rank];
    device::SmallCall small;
    small.input = member.input->data();
    small.output = member.output->data();
    small.arenas = arenas_->data();
    small.control = member.reached_control();
    small.arena = shape(ranks_);
    small.rank = static_cast<std::uint32_t>(rank);
    small.count = call.count;
    small.recipe = {.type = call.type, .op = call.op};
    small.algorithm = choice.small;
    small.stripes = choice.stripes;
    kernels_.launch(small, member.stream);
  }

  void launch_program(const Call& call, const Composition& composition, Rank& member) const {
    const resident::StoredProgram& stored = member.programs.find(
        composition, call.root, [&](std::size_t, std::span<const std::byte> program) {
          member.stored.push_back(
              std::make_unique<DeviceBytes>(Bytes(program.begin(), program.end())));
        });
    device::RankContext made;
    made.program = member.stored[stored.number]->data();
    made.input = member.input->data();
    made.output = member.output->data();
    made.scratch = member.scratch.data();
    made.arenas = arenas_->data();
    made.control = member.reached_control();
    made.sizes = member.programs.sizes_of(stored, call);
    const auto lanes = static_cast<unsigned>(stored.schedule.lanes);
    kernels_.launch(made, lanes * made.sizes.stripes, member.stream);
  }

  const int ranks_;
  const cuda::ResidentKernels& kernels_;
  std::vector<std::unique_ptr<Rank>> members_{};
  std::unique_ptr<test::DeviceBuffer<std::byte*>> arenas_{};
};

std::string_view algorithm_of(const Call& call, int ranks) {
  const Choice choice = choose(call, ranks);
  if (choice.form != Form::small) return resident::default_algorithm(call.collective);
  return choice.small == device::SmallAlgorithm::one_shot ? "one_shot" : "two_shot";
}

/// 1 where some output is not the reference's.
int check(Group& group, const Call& call, int ranks) {
  const Schedule schedule =
      find_algorithm(call.collective, algorithm_of(call, ranks))->build(ranks, call.root);
  const auto [inputs, expected] = test::expected_of({.call = call}, schedule);
  group.place(inputs, expected);
  group.launch(call);
  std::string failure = group.finish();
  for (std::size_t rank = 0; rank < expected.size() && failure.empty(); ++rank) {
    if (group.output(rank, expected[rank].size()) != expected[rank])
      failure = "rank " + std::to_string(rank) + " has other bytes";
  }
  if (failure.empty()) return 0;
  Line("wrong").text("call", to_string(call)).number("ranks", ranks).text("failure", failure);
  return 1;
}

int check_sizes(int ranks) {
  Group group(ranks);
  int wrong = 0;
  for (const Collective collective : collectives) {
    const auto blocks = static_cast<std::size_t>(make_layout(collective, ranks, 1).blocks);
    for (const std::size_t count :
         {std::size_t{1}, std::size_t{1001}, std::size_t{8193}, most_bytes / blocks / 4}) {
      const Call call{
          .count = count, .collective = collective, .type = DataType::float32, .root = ranks - 1};
      wrong += check(group, call, ranks);
    }
  }
  return wrong;
}

int check_types(int ranks) {
  Group group(ranks);
  int wrong = 0;
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (op.op == ReduceOperator::avg || !applies_to(op.op, type.type)) continue;
      for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
        wrong += check(
            group, {.count = 999, .collective = collective, .type = type.type, .op = op.op}, ranks);
    }
  }
  return wrong;
}

/// Measures the median time from the first launch until all streams are done.
void measure(int ranks, std::size_t bytes) {
  Group group(ranks);
  const Call call{.count = bytes / sizeof(float),
                  .collective = Collective::all_reduce,
                  .type = DataType::float32};
  const std::vector<Bytes> buffers(static_cast<std::size_t>(ranks), Bytes(bytes));
  group.place(buffers, buffers);
  std::vector<double> times;
  for (int turn = 0; turn < 60; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    group.launch(call);
    const std::string failure = group.finish();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (!failure.empty()) throw std::runtime_error(failure);
    if (turn >= 10) times.push_back(time.count());
  }
  std::ranges::sort(times);
  Line("calls")
      .text("algorithm", algorithm_of(call, ranks))
      .number("ranks", ranks)
      .number("bytes", static_cast<double>(bytes))
      .number("microseconds", times[times.size() / 2] * 1e6);
}

}  // namespace
}  // namespace rondo::gpu_test

/// With "--check" nothing is timed. With "--brief" there are two ranks and few sizes.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  const std::string option = count > 1 ? arguments[1] : "";
  return program(driver_obstacle(), [&] {
    cuCtxSetCurrent(rondo::test::device_context(0));
    int wrong = 0;
    const std::vector<int> numbers =
        option == "--brief" ? std::vector<int>{2} : std::vector<int>{2, 3, 4, 8};
    for (const int ranks : numbers) wrong += check_sizes(ranks);
    if (option != "--brief") wrong += check_types(3);
    if (!option.empty() || wrong > 0) return wrong;
    for (const int ranks : {2, 4, 8}) {
      for (const std::size_t bytes : {8, 8192, 65536, 262144, 1 << 20, 16 << 20})
        measure(ranks, bytes);
    }
    return wrong;
  });
}
