// How ranks share the work of training: which rank holds which parameters, gradients and optimizer
// state, and what is sent when (the table in strategy.cc). A step, on every rank alike:
//
//   begin_step()
//   A times: begin_micro_step(last), model.forward, model.backward, end_micro_step()
//   step(...)
// An evaluation is a model.forward outside of a step. Gradients are *averaged* over the ranks, so
// the caller scales losses by ranks / (targets of the global batch).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/trainer/strategy/asynchronous.h"
#include "tools/trainer/strategy/storage.h"

namespace rondo::train {

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
class Strategy {
 public:
  /// Local. Throws Error{invalid_argument} for a kind that is not in the table, or options that
  /// exclude each other.
  Strategy(const Workplace& place, const StrategyOptions& options);

  const StrategyInfo& kind() const { return info_; }
  const std::string& name() const { return options_.kind; }
  /// Rank 0's start values for every unit, broadcast. Called once, before anything else.
  void start(std::uint64_t seed);

  /// The model's calls: see Gpt. The gradient of this micro-step is complete after_backward().
  void before_forward(std::size_t unit) { parameters_.open(unit, Pass::forward); }
  void after_forward(std::size_t unit) { parameters_.close(unit); }
  void before_backward(std::size_t unit);
  void after_backward(std::size_t unit);
  std::span<const float> parameters(std::size_t unit) { return parameters_.at(unit); }
  /// The model *adds* to it.
  std::span<float> gradients(std::size_t unit) { return gradients_.at(unit); }

  void begin_step() { gradients_.begin_step(); }
  /// `last`: the gradients of this micro-step complete the step's sum.
  void begin_micro_step(bool last) { gradients_.begin_micro_step(last); }
  void end_micro_step() { gradients_.end_micro_step(); }
  StepOutcome step(const StepRequest& request);

  /// For checkpoints: the float32 parameters and optimizer state that this rank holds, in place, as
  /// ranges of the flat model (gradients empty). All ranks together cover every element. Without
  /// sharding every rank has all: writes_shards() says which one saves it.
  std::vector<Range> shards();
  bool writes_shards() const { return info_.shards_state || world_.rank() == 0; }
  /// The same where the communicator may have failed. Local. They are the state of the last complete
  /// step as long as is_whole().
  std::vector<Range> shards_now();
  /// False if an error ended a step while the optimizer changed this rank's shards.
  bool is_whole() const { return whole_; }
  /// Called after shards() were written to. Makes the values derived from them (narrow copies)
  /// again.
  void shards_changed();

  /// The unit's parameters as the model computes with them, in place, in elements of `bytes /
  /// unit.size`. They must be equal on every rank, bit for bit. Collective (a sharded unit is
  /// gathered for it); valid until the next call of any kind.
  std::span<const std::byte> replica(std::size_t unit) { return parameters_.replica(unit); }

  /// Waits until this rank's communication is complete, for example parameters that are gathered
  /// while the next step begins. Used before counting and measuring. Collective.
  void settle();
  /// Of asynchronous strategies: the changes of peers that this rank has taken, and what it sent.
  std::optional<Staleness> staleness() const;
  Traffic asynchronous_traffic() const { return exchange_ ? exchange_->traffic() : Traffic(); }
  /// Each pass over the model (all gradients, or all parameters) makes a call for each segment.
  const Partition& partition() const { return partition_; }

 private:
  bool is_narrow() const { return options_.precision != Precision::float32; }
  void adopt(std::size_t unit, std::span<const float> values);
  /// Float32 parameters of this rank's block of a segment, without padding.
  std::span<float> master(std::size_t segment);
  Range range(std::size_t segment);
  /// Calls visit(begin in the block, gradients) for runs that cover this rank's block of a segment.
  template <class Visit>
  void each_run(std::size_t segment, Visit visit);
  double sum_of_squared_gradients();
  /// Shows the changes to the other ranks.
  void publish(std::size_t segment);

  /// Float32 parameters of this rank, all of them.
  Asynchronous::Replica replica_parts();

  const StrategyInfo& info_;
  StrategyOptions options_;
  Communicator& world_;
  Communicator alone_;  ///< asynchronous: the world in which this rank computes
  Workplace place_;
  /// For the norm, which neither waits for the model's calls nor counts with them. Made by start(), as
  /// nothing before it is collective.
  Communicator scalars_{};
  Partition partition_;  ///< one rank's where nothing is sharded
  Parameters parameters_;
  Gradients gradients_;
  Array<float> master_{};  ///< 16 bits only
  Array<float> run_{};     ///< 16 bits only: gradients widened for the optimizer, piece by piece
  std::vector<Array<float>> states_{};
  std::optional<Asynchronous> exchange_{};
  bool whole_ = true;
};

}  // namespace rondo::train
