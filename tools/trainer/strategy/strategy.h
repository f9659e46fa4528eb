// How ranks share the work of training: which rank holds which parameters, gradients and optimizer
// state, and what is sent when. A model sees a strategy as its Store.
//
// A step, on every rank alike:
//   begin_step(A)
//   A times: begin_micro_step(last), model.forward, model.backward, end_micro_step()
//   step(...)
// An evaluation is a model.forward outside of a step. Gradients are *averaged* over the ranks, so
// the caller scales losses by ranks / (targets of the global batch).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/machine/machine.h"
#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/store.h"
#include "tools/trainer/model/unit.h"
#include "tools/trainer/optimize/optimizer.h"
#include "tools/trainer/report/stopwatch.h"

namespace rondo::train {

/// Equal on every rank.
struct StrategyOptions {
  std::string kind = "ddp";                  ///< a name of strategies()
  std::size_t bucket_bytes = 25U << 20;      ///< of gradients in one call, on the wire
  Precision precision = Precision::float32;  ///< of the parameters that the model computes with
  Precision wire = Precision::float32;       ///< of gradients on the wire; not wider than precision
  bool sync_every_micro_step = false;        ///< accumulate without no_sync
  bool overlap = true;                       ///< communicate while backward goes on
  /// Master weights and optimizer state lie in the host's memory, not in a device's.
  bool offload = false;
  double top_k = 0;  ///< share of a bucket's gradients sent; 0: all of them
};

/// The objects that a strategy uses. All of them outlive it.
struct Workplace {
  Communicator& world;
  const Layout& layout;
  const Optimizer& optimizer;
  Ledger& ledger;
  Stopwatch& watch;                         ///< waiting for peers is Phase::communication
  const Machine& machine = host_machine();  ///< where the ledger's arrays lie
};

struct StepRequest {
  Step step{};            ///< gradient_scale: 1 / loss scale; clipping is the strategy's
  double clip = 0;        ///< largest global norm of the (unscaled) gradient; 0: no limit
  bool skip_bad = false;  ///< leave everything as it is where the norm is not finite
};

struct StepOutcome {
  double norm = 0;       ///< global, of the unscaled gradient, before clipping; equal on every rank
  bool skipped = false;  ///< the norm was not finite and skip_bad was set: alike on every rank
};

/// Belongs to one rank; one thread at a time. Every call except parameters() and gradients() may be
/// collective. Errors are rondo::Error; afterwards the strategy can only be destroyed.
class Strategy : public Store<float> {
 public:
  virtual std::string_view name() const = 0;

  /// Takes a unit's start parameters, float32, equal on every rank. Called once for every unit,
  /// before anything else; see broadcast_start().
  virtual void adopt(std::size_t unit, std::span<const float> values) = 0;

  virtual void begin_step(std::size_t micro_steps) = 0;
  /// `last`: the gradients of this micro-step complete the step's sum.
  virtual void begin_micro_step(bool last) = 0;
  virtual void end_micro_step() = 0;
  virtual StepOutcome step(const StepRequest& request) = 0;

  /// For checkpoints: the float32 parameters and optimizer state that this rank holds, in place, as
  /// ranges of the flat model (gradients empty). All ranks together cover every element. A rank
  /// also lists a copy of another rank's part: writes_shards() says which rank saves it.
  virtual std::vector<Range> shards() = 0;
  /// Whether this rank saves its shards (if replicated, only rank 0 does).
  virtual bool writes_shards() const = 0;
  /// Called after shards() were written to. Makes the values derived from them (narrow copies)
  /// again.
  virtual void shards_changed() = 0;

  /// The unit's parameters as the model computes with them, in place, in elements of `bytes /
  /// unit.size`. They must be equal on every rank, bit for bit. Collective (a sharded unit is
  /// gathered for it); valid until the next call of any kind.
  virtual std::span<const std::byte> replica(std::size_t unit) = 0;

  /// Waits until this rank's communication is complete, for example parameters that are gathered
  /// while the next step begins. Used before counting and measuring. Collective.
  virtual void settle() {}
  /// Elements of padding sent in each pass over the model. With them all ranks have blocks of the
  /// same size.
  virtual std::size_t padding() const { return 0; }
  /// Collective calls that a pass over the model (all gradients, or all parameters) is cut into.
  virtual std::size_t calls() const = 0;
  /// At most this many bytes of arrays are taken during a step and not when the strategy is made.
  virtual std::size_t later_bytes() const = 0;
};

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Strategy> (*make)(const Workplace&, const StrategyOptions&);
};

/// The one table; tests walk it.
std::span<const StrategyInfo> strategies();

/// Throws Error{invalid_argument} for a kind that is not in the table, or options that exclude each
/// other.
std::unique_ptr<Strategy> make_strategy(const Workplace& place, const StrategyOptions& options);

/// Rank 0's start values for every unit, broadcast and adopted. Collective.
void broadcast_start(Strategy& strategy, const Workplace& place, std::uint64_t seed);

}  // namespace rondo::train
