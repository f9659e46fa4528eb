// Times a step's communication with nothing else to do. Part of validation.h.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/report/validation.h"

namespace rondo::train {
namespace {

constexpr int fewest = 5;       // tries
constexpr int most = 50;        // unless they take
constexpr double enough = 0.3;  // seconds in all

DataType wire_of(double bytes) { return bytes < 4 ? DataType::bfloat16 : DataType::float32; }

/// The collective calls of one pass over the model.
class Passes {
 public:
  Passes(Communicator& world, const Machine& machine, const Traits& traits)
      : world_(world),
        machine_(machine),
        calls_(std::max<std::size_t>(1, traits.calls)),
        block_((traits.parameters / calls_ + static_cast<std::size_t>(world.size())) /
               static_cast<std::size_t>(world.size())),
        whole_(block_ * static_cast<std::size_t>(world.size())),
        buffer_(array_of_ones()) {}

  void all_reduce(double wire) {
    for (std::size_t call = 0; call < calls_; ++call)
      machine_.all_reduce(world_, buffer_.data(), whole_, wire_of(wire), ReduceOperator::sum)
          ->wait();
  }
  void reduce_scatter(double wire) {
    for (std::size_t call = 0; call < calls_; ++call)
      machine_
          .reduce_scatter(world_, buffer_.data(), own(wire), block_, wire_of(wire),
                          ReduceOperator::sum)
          ->wait();
  }
  void all_gather(double wire) {
    for (std::size_t call = 0; call < calls_; ++call)
      machine_.all_gather(world_, own(wire), buffer_.data(), block_, wire_of(wire))->wait();
  }

 private:
  /// Buffers in the same kind of memory that strategies send from.
  Array<float> array_of_ones() {
    ledger_.take_from(machine_.supply());
    Array<float> array(ledger_, Use::buckets, whole_);
    array.write(0, std::vector<float>(whole_, 1.0F));
    return array;
  }
  std::byte* own(double wire) {
    return reinterpret_cast<std::byte*>(buffer_.data()) +
           static_cast<std::size_t>(world_.rank()) * block_ * size_of(wire_of(wire));
  }

  Communicator& world_;
  const Machine& machine_;
  std::size_t calls_;
  std::size_t block_;
  std::size_t whole_;
  Ledger ledger_{};
  Array<float> buffer_;
};

void step(Passes& passes, const std::string& strategy, const Traits& traits) {
  const bool each = traits.reduces_every_micro_step || strategy == "zero2" || strategy == "zero3";
  for (std::size_t micro = 0; micro < (each ? traits.micro_steps : 1); ++micro) {
    if (strategy == "ddp") {
      passes.all_reduce(traits.gradient_wire);
      continue;
    }
    if (strategy == "zero3") {
      passes.all_gather(traits.parameter_wire);
      passes.all_gather(traits.parameter_wire);
    }
    passes.reduce_scatter(traits.gradient_wire);
  }
  if (strategy == "zero1" || strategy == "zero2") passes.all_gather(traits.parameter_wire);
}

}  // namespace

double communication_alone(Communicator& world, const Machine& machine, const std::string& strategy,
                           const Traits& traits) {
  if (world.size() == 1) return 0;
  Passes passes(world, machine, traits);
  double least = 0;
  double all = 0;  // of the slowest rank, so that every rank tries as often
  for (int attempt = 0; attempt < fewest || (attempt < most && all < enough); ++attempt) {
    world.barrier();
    const auto begin = std::chrono::steady_clock::now();
    step(passes, strategy, traits);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    world.all_reduce(&seconds, &seconds, 1, DataType::float64, ReduceOperator::max);
    all += seconds;
    if (attempt == 0) continue;  // connects, and takes pages
    least = attempt == 1 ? seconds : std::min(least, seconds);
  }
  return least;
}

Traits traits_of(const Options& options, int ranks, std::size_t parameters, std::size_t padding,
                 std::size_t calls, std::size_t states) {
  const StrategyOptions& strategy = options.strategy;
  const bool master = strategy.precision != Precision::float32 || strategy.offload;
  const double element = static_cast<double>(info(strategy.precision).bytes);
  return {.ranks = ranks,
          .parameters = parameters,
          .padding = padding,
          .micro_steps = options.accumulate,
          .reduces_every_micro_step = strategy.sync_every_micro_step,
          .calls = calls,
          .gradient_wire = static_cast<double>(info(strategy.wire).bytes),
          .parameter_wire = element,
          .parameter_bytes = element,
          .gradient_bytes = element,
          .state_bytes = 4.0 * static_cast<double>(states) + (master ? 4 : 0)};
}

}  // namespace rondo::train
