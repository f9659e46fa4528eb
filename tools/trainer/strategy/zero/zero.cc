#include "tools/trainer/strategy/zero/zero.h"

#include <cmath>
#include <string>
#include <utility>

#include "tools/trainer/strategy/zero/owned.h"

namespace rondo::train {
namespace {

struct Parts {
  std::string_view name;
  std::size_t segment_elements;  ///< 0: every unit is a segment
  std::unique_ptr<Parameters> (*parameters)(const Workplace&, const Partition&,
                                            const StrategyOptions&);
  std::unique_ptr<Gradients> (*gradients)(const Workplace&, const Partition&,
                                          const StrategyOptions&);
};

class Zero final : public Strategy {
 public:
  Zero(const Workplace& place, const StrategyOptions& options, const Parts& parts)
      : name_(parts.name),
        place_(place),
        partition_(place.layout, place.world.size(), place.world.rank(), parts.segment_elements),
        parameters_(parts.parameters(place, partition_, options)),
        gradients_(parts.gradients(place, partition_, options)),
        owned_(place, partition_, options, *parameters_, *gradients_) {}

  std::string_view name() const override { return name_; }
  void adopt(std::size_t unit, std::span<const float> values) override {
    if (!scalars_) scalars_ = place_.world.dup();
    parameters_->adopt(unit, values);
    owned_.adopt(unit, values);
  }

  void before_forward(std::size_t unit) override { parameters_->open(unit, Pass::forward); }
  void after_forward(std::size_t unit) override { parameters_->close(unit); }
  void before_backward(std::size_t unit) override {
    parameters_->open(unit, Pass::backward);
    gradients_->open(unit);
  }
  void after_backward(std::size_t unit) override {
    gradients_->close(unit);
    parameters_->close(unit);
  }
  std::span<const float> parameters(std::size_t unit) override { return parameters_->at(unit); }
  std::span<float> gradients(std::size_t unit) override { return gradients_->at(unit); }

  void begin_step(std::size_t) override { gradients_->begin_step(); }
  void begin_micro_step(bool last) override { gradients_->begin_micro_step(last); }
  void end_micro_step() override { gradients_->end_micro_step(); }

  StepOutcome step(const StepRequest& request) override {
    const auto scope = place_.watch.in(Phase::optimizer);
    double squares = owned_.sum_of_squared_gradients();
    {
      const auto waiting = place_.watch.in(Phase::communication);
      scalars_.all_reduce(&squares, &squares, 1, DataType::float64);
    }
    const double norm = std::sqrt(squares) * request.step.gradient_scale;
    if (request.skip_bad && !std::isfinite(norm)) return {norm, true};
    Step step = request.step;
    step.gradient_scale *= clip_scale(norm, request.clip);
    owned_.update(step);
    return {norm, false};
  }

  std::vector<Range> shards() override {
    parameters_->settle();
    return owned_.shards();
  }
  bool writes_shards() const override { return true; }
  void shards_changed() override { owned_.shards_changed(); }
  std::span<const std::byte> replica(std::size_t unit) override {
    return parameters_->replica(unit);
  }
  void settle() override { parameters_->settle(); }
  std::size_t padding() const override { return partition_.padding(); }
  std::size_t calls() const override { return partition_.segments().size(); }
  std::size_t later_bytes() const override {
    return parameters_->later_bytes() + gradients_->later_bytes();
  }

 private:
  std::string_view name_;
  Workplace place_;
  Communicator scalars_{};  ///< for the norm; made with the first unit, as nothing before it is
                            ///< collective
  Partition partition_;
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<Gradients> gradients_;
  Owned owned_;
};

std::unique_ptr<Strategy> make(const Workplace& place, const StrategyOptions& options,
                               const Parts& parts) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw Error(ErrorCode::invalid_argument, std::string(parts.name) + " " + what,
                {.remedy = remedy});
  };
  if (options.top_k > 0) refuse("does not compress gradients", "--strategy ddp");
  if (options.wire != options.precision) {
    refuse("sends gradients in the type that it computes with",
           "--strategy ddp, or --precision instead of --wire");
  }
  if (options.sync_every_micro_step && parts.gradients == &whole_gradients) {
    refuse("adds up micro-steps before anything is sent",
           "--strategy zero2, which sends in every micro-step");
  }
  return std::make_unique<Zero>(place, options, parts);
}

std::size_t bucket(const StrategyOptions& options) {
  return options.bucket_bytes / info(options.precision).bytes;
}

}  // namespace

std::unique_ptr<Strategy> make_zero1(const Workplace& place, const StrategyOptions& options) {
  return make(place, options, {"zero1", bucket(options), &replicated_parameters, &whole_gradients});
}

std::unique_ptr<Strategy> make_zero2(const Workplace& place, const StrategyOptions& options) {
  return make(place, options,
              {"zero2", bucket(options), &replicated_parameters, &scattered_gradients});
}

std::unique_ptr<Strategy> make_zero3(const Workplace& place, const StrategyOptions& options) {
  return make(place, options, {"zero3", 0, &sharded_parameters, &scattered_gradients});
}

}  // namespace rondo::train
