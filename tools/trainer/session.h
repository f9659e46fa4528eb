// Training, step by step: one rank's text, model, strategy and optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rondo/rondo.h"
#include "tools/trainer/data/text.h"
#include "tools/trainer/memory/room.h"
#include "tools/trainer/options.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Belongs to one rank. Every call that is not const is collective. An error of all ranks is an
/// AgreedError on all of them. After any other error this rank must abort the communicator.
class Session {
 public:
  Session(const Options& options, Communicator& world);

  /// One step of the optimizer, over one global batch. `asks`: see asked().
  StepRecord step(bool asks = false);
  /// Whether a rank passed `asks` to the last step. It goes with the loss and costs no message.
  bool asked() const { return asked_; }
  /// Mean loss over (at most `samples` of) the validation part.
  double validate(std::size_t samples);
  /// Throws AgreedError unless all ranks compute with the same parameters, bit for bit. It names the
  /// first tensor that differs, and the first rank whose copy differs from rank 0's.
  void check();
  /// Of an asynchronous strategy: how old the changes were that ranks took. Collective.
  std::string staleness_words();
  /// `count` characters that the model writes after `prompt`; the same on every rank.
  std::string write(const std::string& prompt, std::size_t count, double temperature);

  /// Saves and resumes this session; the session outlives it. `hook`: for tests.
  Checkpoints checkpoints(Hook hook = {});
  const Position& position() const { return position_; }
  void set_position(const Position& position) { position_ = position; }
  Strategy& strategy() { return *strategy_; }
  const Layout& layout() const { return model_->layout(); }
  /// A digest of the text; two runs with the same one train on the same data.
  std::uint64_t data_fingerprint() const { return text_.fingerprint(); }
  const Optimizer& optimizer() const { return *optimizer_; }
  const Ledger& memory() const { return ledger_; }
  const Plan& plan() const { return plan_; }
  const Machine& machine() const { return ledger_.machine(); }
  RunRecord run_record() const;
  /// What the strategy sent in all steps so far, without validation, checks and start values. Waits
  /// until all of it is sent. Collective.
  Traffic sent_in_steps();

 private:
  void look();
  void set_up();
  void check_options() const;
  void check_prompt() const;
  std::size_t largest_batch() const;
  std::size_t targets_per_step() const { return options_.batch * options_.block; }
  Workplace workplace() { return {world_, layout(), *optimizer_, ledger_, watch_}; }
  Traffic sent() const {
    return total(machine().traffic(world_), strategy_->asynchronous_traffic());
  }
  double run_micro_steps(const std::vector<std::size_t>& numbers);
  template <class Work>
  void beside_steps(Work work);
  double average(double sum, std::size_t targets, bool asks = false);
  void judge(const StepOutcome& outcome);

  Options options_;
  Communicator& world_;                ///< the strategy's traffic and nothing else
  Communicator control_;               ///< losses, agreements, checks
  std::unique_ptr<Machine> device_{};  ///< with --device gpu; outlives what is on it
  Ledger ledger_{};
  Plan plan_{};
  Stopwatch watch_{};
  Text text_{};
  std::optional<Gpt> model_{};
  std::optional<Optimizer> optimizer_{};
  std::unique_ptr<Strategy> strategy_{};
  std::optional<Sampler> sampler_{};
  Position position_{};
  std::optional<Traffic> beside_{};  ///< sent in no step; nothing before the first one
  Traffic recorded_{};               ///< the sum over the records
  bool asked_ = false;
};

/// The training's text. Local. Throws Error{invalid_argument} if it cannot be had, or is too short.
Text text_of(const Options& options);

}  // namespace rondo::train
