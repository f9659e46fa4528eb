// The strategies by name, and what all of them share at the start.
#include <array>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/model/model.h"
#include "tools/trainer/strategy/ddp.h"
#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/strategy/zero/zero.h"

namespace rondo::train {
namespace {

constexpr std::array table{
    StrategyInfo{"ddp", "every rank holds everything; gradients are all-reduced in buckets",
                 &make_ddp},
    StrategyInfo{"zero1", "optimizer state is sharded; gradients are reduce-scattered once a step",
                 &make_zero1},
    StrategyInfo{"zero2", "gradients are sharded, too: reduce-scattered in every micro-step",
                 &make_zero2},
    StrategyInfo{"zero3", "parameters are sharded, too: gathered layer by layer, then released",
                 &make_zero3},
};

[[noreturn]] void refuse(const std::string& message, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, message, {.remedy = remedy});
}

void check(const StrategyOptions& options, const Machine& machine) {
  if (options.top_k < 0 || options.top_k > 1) {
    refuse("top-k of " + std::to_string(options.top_k) + " is not a share", "above 0, at most 1");
  }
  if (options.bucket_bytes == 0) refuse("buckets of 0 bytes hold nothing", "--bucket-mb 25");
  if (options.precision != Precision::float32 &&
      (options.wire != options.precision || options.top_k > 0)) {
    refuse("16-bit training sends all gradients, in the type that it computes in",
           "--wire and --compress only with --precision float32");
  }
  if (options.top_k > 0 && (options.wire != Precision::float32 || options.sync_every_micro_step)) {
    refuse("top-k sends float32 values once a step", "without --wire and --sync-every-micro-step");
  }
  if (options.offload && machine.supply() == nullptr) {
    refuse("a CPU's optimizer state lies in the host's memory already: there is nothing to offload",
           "--offload with --device gpu");
  }
  if (machine.supply() == nullptr) return;
  if (options.precision != Precision::float32 || options.wire != Precision::float32 ||
      options.top_k > 0) {
    refuse("a GPU computes in float32 only, and sends all gradients in float32",
           "without --precision, --wire and --compress, or --device cpu");
  }
}

}  // namespace

std::span<const StrategyInfo> strategies() { return table; }

std::unique_ptr<Strategy> make_strategy(const Workplace& place, const StrategyOptions& options) {
  check(options, place.machine);
  std::string known;
  for (const StrategyInfo& row : strategies()) {
    if (row.name == options.kind) return row.make(place, options);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  refuse("there is no strategy '" + options.kind + "'", "one of: " + known);
}

void broadcast_start(Strategy& strategy, const Workplace& place, std::uint64_t seed) {
  const auto& units = place.layout.units();
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    Array<float> values(place.ledger, Use::working, units[unit].size, Lies::here);
    if (place.world.rank() == 0) start_values(units[unit], seed, values.span());
    {
      const auto scope = place.watch.in(Phase::communication);
      place.world.broadcast(values.data(), values.data(), values.size(), DataType::float32, 0);
    }
    strategy.adopt(unit, values.span());
  }
}

}  // namespace rondo::train
