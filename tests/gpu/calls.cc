// The calls of calls_group.h: results are compared with the reference. libnccl does not make them where
// ranks are threads of one context, because streams may share a queue of the device. This program finds
// out whether they do.
#include "algorithms/table.h"
#include "core/schedule/layout.h"
#include "tests/device/placed.h"
#include "tests/gpu/calls_group.h"
#include "tests/gpu/report.h"
#include "tests/gpu/soak.h"

namespace rondo::gpu_test {
namespace {

using resident::Choice;
using resident::Form;
using Bytes = std::vector<std::byte>;

/// Of all blocks, in the largest call that is checked.
constexpr std::size_t most_bytes = std::size_t{16} << 20;
const std::vector<Collective> collectives{
    Collective::all_reduce, Collective::reduce_scatter, Collective::reduce,  Collective::all_gather,
    Collective::broadcast,  Collective::all_to_all,     Collective::scatter, Collective::gather};

/// The ranks' buffers of one call.
class Placed {
 public:
  /// Outputs have room for these and are zero.
  Placed(const std::vector<Bytes>& inputs, const std::vector<Bytes>& outputs) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      inputs_.push_back(std::make_unique<DeviceBytes>(never_empty(inputs[rank])));
      outputs_.push_back(std::make_unique<DeviceBytes>(never_empty(Bytes(outputs[rank].size()))));
      buffers_.push_back({.input = inputs_[rank]->data(), .output = outputs_[rank]->data()});
    }
  }
  const std::vector<Buffers>& buffers() const { return buffers_; }
  Bytes output(std::size_t rank, std::size_t bytes) const {
    Bytes content = outputs_[rank]->get();
    content.resize(bytes);
    return content;
  }

 private:
  /// A driver gives no memory of 0 bytes.
  static Bytes never_empty(Bytes content) {
    if (content.empty()) content.resize(1);
    return content;
  }
  std::vector<std::unique_ptr<DeviceBytes>> inputs_{};
  std::vector<std::unique_ptr<DeviceBytes>> outputs_{};
  std::vector<Buffers> buffers_{};
};

/// Launches the call and waits for it. The group's failure, in words.
std::string make(CallGroup& group, const Call& call, const Placed& placed, bool in_windows) {
  group.launch(call, placed.buffers(), in_windows);
  group.finish();
  return group.failure();
}

std::string algorithm_of(const Choice& choice) {
  if (choice.form != Form::small) return choice.composition.name();
  return choice.small == device::SmallAlgorithm::one_shot ? "one_shot" : "two_shot";
}

/// 1 where some output is not the reference's.
int check(CallGroup& group, const Call& call, bool in_windows = false) {
  const int ranks = group.ranks();
  const Schedule schedule =
      find_algorithm(call.collective, algorithm_of(group.choose(call)))->build(ranks, call.root);
  const auto [inputs, expected] = test::expected_of({.call = call}, schedule);
  const Placed placed(inputs, expected);
  std::string failure = make(group, call, placed, in_windows);
  for (std::size_t rank = 0; rank < expected.size() && failure.empty(); ++rank) {
    if (placed.output(rank, expected[rank].size()) != expected[rank])
      failure = "rank " + std::to_string(rank) + " has other bytes";
  }
  if (failure.empty()) return 0;
  Line("wrong")
      .text("call", to_string(call) + (in_windows ? " in windows" : ""))
      .number("ranks", ranks)
      .text("failure", failure);
  return 1;
}

int check_sizes(int ranks) {
  CallGroup group(ranks);
  int wrong = 0;
  for (const Collective collective : collectives) {
    const auto blocks = static_cast<std::size_t>(make_layout(collective, ranks, 1).blocks);
    for (const std::size_t count :
         {std::size_t{1}, std::size_t{1001}, std::size_t{8193}, most_bytes / blocks / 4}) {
      const Call call{
          .count = count, .collective = collective, .type = DataType::float32, .root = ranks - 1};
      wrong += check(group, call);
      if (group.uses_windows(call)) wrong += check(group, call, true);
    }
  }
  return wrong;
}

/// Every algorithm, by packets and by frames.
int check_algorithms(int ranks) {
  int wrong = 0;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == Collective::barrier || row.collective == Collective::send_recv) continue;
    CallGroup group(ranks, std::string(name(row.collective)) + ":" + std::string(row.name));
    for (const std::size_t count : {std::size_t{37}, std::size_t{50'003}})
      wrong += check(group, {.count = count,
                             .collective = row.collective,
                             .type = DataType::float32,
                             .root = info(row.collective).has_root ? ranks / 2 : 0});
  }
  return wrong;
}

int check_types(int ranks) {
  CallGroup group(ranks);
  int wrong = 0;
  for (const auto& type : data_types) {
    for (const auto& op : reduce_operators) {
      if (op.op == ReduceOperator::avg || !applies_to(op.op, type.type)) continue;
      for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
        wrong +=
            check(group, {.count = 999, .collective = collective, .type = type.type, .op = op.op});
    }
  }
  return wrong;
}

}  // namespace
}  // namespace rondo::gpu_test

/// With "--soak LAUNCHES SECONDS LOAD_BYTES" there are many calls beside a load instead.
int main(int count, char** arguments) {
  using namespace rondo::gpu_test;
  return program(driver_obstacle(), [&] {
    cuCtxSetCurrent(rondo::test::device_context(0));
    if (count == 5 && std::string(arguments[1]) == "--soak") {
      return soak({.launches = std::stoul(arguments[2]),
                   .seconds = std::stod(arguments[3]),
                   .load_bytes = std::stoul(arguments[4])});
    }
    int wrong = check_types(3);
    for (const int ranks : {2, 3, 4, 8}) wrong += check_sizes(ranks_that_fit(ranks));
    for (const int ranks : {3, 5}) wrong += check_algorithms(ranks);
    return wrong;
  });
}
