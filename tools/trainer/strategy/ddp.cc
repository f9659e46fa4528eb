#include "tools/trainer/strategy/ddp.h"

#include <cmath>
#include <utility>

#include "tools/trainer/strategy/bucket.h"
#include "tools/trainer/strategy/reduction.h"
#include "tools/trainer/strategy/replicated.h"

namespace rondo::train {
namespace {

class Ddp final : public Strategy {
 public:
  Ddp(const Workplace& place, const StrategyOptions& options)
      : place_(place),
        options_(options),
        replica_(place, options),
        buckets_(make_buckets(place.layout, options.bucket_bytes / info(options.wire).bytes)),
        reduction_(make_reduction()) {
    for (std::size_t state = 0; state < place.optimizer.states(); ++state) {
      states_.emplace_back(place.ledger, Use::optimizer, place.layout.size());
    }
  }

  std::string_view name() const override { return "ddp"; }
  void adopt(std::size_t unit, std::span<const float> values) override {
    replica_.adopt(unit, values);
  }

  void before_forward(std::size_t unit) override { replica_.open(unit); }
  void after_forward(std::size_t unit) override { replica_.close(unit); }
  void before_backward(std::size_t unit) override {
    replica_.open(unit);
    replica_.open_gradients(unit);
  }
  void after_backward(std::size_t unit) override {
    replica_.close_gradients(unit);
    replica_.close(unit);
    if (syncs_ && options_.overlap) start_from(unit);
  }
  std::span<const float> parameters(std::size_t unit) override { return replica_.parameters(unit); }
  std::span<float> gradients(std::size_t unit) override { return replica_.gradients(unit); }

  void begin_step(std::size_t) override { replica_.clear_gradients(); }
  void begin_micro_step(bool last) override {
    syncs_ = last || options_.sync_every_micro_step;
    next_ = 0;
  }
  void end_micro_step() override {
    if (!syncs_) return;
    const auto scope = place_.watch.in(Phase::communication);
    start_from(0);
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) reduction_->finish(bucket);
  }

  StepOutcome step(const StepRequest& request) override {
    const auto scope = place_.watch.in(Phase::optimizer);
    double squares = 0;
    replica_.each_run([&](std::size_t, std::span<const float> gradients) {
      squares += place_.machine.sum_of_squares(gradients);
    });
    const double norm = std::sqrt(squares) * request.step.gradient_scale;
    if (request.skip_bad && !std::isfinite(norm)) return {norm, true};
    Step step = request.step;
    step.gradient_scale *= clip_scale(norm, request.clip);
    replica_.each_run([&](std::size_t begin, std::span<const float> gradients) {
      place_.machine.update(place_.optimizer, range(begin, gradients), step);
    });
    if (!replica_.offloaded()) replica_.master_changed();
    return {norm, false};
  }

  std::vector<Range> shards() override {
    Range whole = range(0, std::span<const float>(replica_.master()));
    whole.gradients = {};
    return {whole};
  }
  bool writes_shards() const override { return place_.world.rank() == 0; }
  void shards_changed() override { replica_.master_changed(); }
  std::span<const std::byte> replica(std::size_t unit) override { return replica_.bytes(unit); }
  std::size_t calls() const override { return buckets_.size(); }
  std::size_t later_bytes() const override { return replica_.later_bytes(); }

 private:
  std::unique_ptr<Reduction> make_reduction() {
    if (options_.top_k > 0) {
      return reduce_top_k(place_, buckets_, replica_.float_gradients(), options_.top_k);
    }
    if (options_.wire != options_.precision) {
      return reduce_narrow(place_, buckets_, replica_.float_gradients(), options_.wire);
    }
    return reduce_in_place(place_, buckets_, replica_.gradient_bytes(), options_.wire);
  }

  /// Starts the buckets that become complete with `unit`. Units become complete from the last to
  /// the first.
  void start_from(std::size_t unit) {
    for (; next_ < buckets_.size() && buckets_[next_].unit >= unit; ++next_) {
      reduction_->start(next_);
    }
  }

  /// The range of the flat model from `begin` on, as long as `gradients`.
  Range range(std::size_t begin, std::span<const float> gradients) {
    Range run{begin, replica_.master().subspan(begin, gradients.size()), gradients, {}};
    for (auto& state : states_) {
      run.states.push_back(state.span().subspan(begin, gradients.size()));
    }
    run.copies = replica_.copies(begin, gradients.size());
    return run;
  }

  Workplace place_;
  StrategyOptions options_;
  Replica replica_;
  std::vector<Bucket> buckets_;
  std::vector<Array<float>> states_{};
  std::unique_ptr<Reduction> reduction_;  ///< after replica_, whose gradients it uses
  bool syncs_ = false;
  std::size_t next_ = 0;  ///< the first bucket of the micro-step not yet started
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const Workplace& place, const StrategyOptions& options) {
  return std::make_unique<Ddp>(place, options);
}

}  // namespace rondo::train
