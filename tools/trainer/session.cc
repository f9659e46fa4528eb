#include "tools/trainer/session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "bench/common/gather.h"
#include "tools/trainer/agreement.h"
#include "tools/trainer/data/random.h"
#include "tools/trainer/device/device.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr std::size_t calm_steps = 200;         // fp16: so many good steps double the loss scale
constexpr double largest_loss_scale = 0x1p64;   // halved once a step, soon small enough
constexpr std::size_t most_samples = 1U << 24;  // products of counts must not overflow

/// One of the scores' indices, with the probability of softmax(scores / temperature).
std::int32_t draw(std::span<const float> scores, double temperature, Random& random) {
  const float largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> sums;
  double sum = 0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score - largest) / temperature);
    sums.push_back(sum);
  }
  const double point = random.uniform() * sum;
  const auto found = std::upper_bound(sums.begin(), sums.end() - 1, point);
  return static_cast<std::int32_t>(found - sums.begin());
}

}  // namespace

Text text_of(const Options& options) {
  constexpr std::size_t story_bytes = 200'000;
  return {options.data.empty() ? story_text(story_bytes) : read_text(options.data), options.block};
}

Session::Session(const Options& options, Communicator& world)
    : options_(options), world_(world), control_(world.dup()) {
  require_equal(control_, fingerprint(settings_json(options_)), "options");
  const bool on_device = options_.device == "gpu";
  Communicator device_world = on_device ? world_.dup() : Communicator();
  together(control_, [&] { look(); });
  require_equal(control_, text_.fingerprint(), "data");
  together(control_, [&] {
    if (on_device) {
      device_ = std::make_unique<device::Device>(std::move(device_world));
      ledger_.take_from(*device_);
    }
    plan_ = plan_of(options_, world_, largest_batch(), machine());
    require_within(plan_, options_);
  });
  require_room(control_, plan_, machine());
  together(control_, [&] { set_up(); });
  strategy_->start(options_.seed);
}

// Neither this nor set_up() communicates. The ranks agree on errors afterwards.
void Session::look() {
  set_product_threads(options_.threads);
  check_options();
  text_ = text_of(options_);
  const std::size_t samples = text_.samples(Part::training);
  require(!options_.drop_last || samples >= options_.batch,
          "the data holds " + std::to_string(samples) + " samples, less than a global batch of " +
              std::to_string(options_.batch),
          "more data, a smaller --batch or --block, or --pad");
  check_prompt();
  options_.model.inputs = options_.block;
  options_.model.outputs = text_.characters().size();
  options_.model.precision = options_.strategy.precision;
}

/// Samples in a rank's largest micro-step.
std::size_t Session::largest_batch() const {
  const std::size_t micro_batches = static_cast<std::size_t>(world_.size()) * options_.accumulate;
  return (options_.batch + micro_batches - 1) / micro_batches;
}

void Session::set_up() {
  model_.emplace(options_.model, ledger_);
  optimizer_.emplace(options_.optimizer, layout());
  strategy_ = std::make_unique<Strategy>(workplace(), options_.strategy);
  model_->reserve(largest_batch(), options_.block);
  sampler_.emplace(SamplerOptions{.samples = text_.samples(Part::training),
                                  .batch = options_.batch,
                                  .ranks = world_.size(),
                                  .rank = world_.rank(),
                                  .shuffle = options_.shuffle,
                                  .seed = options_.seed,
                                  .drop_last = options_.drop_last});
  const bool scaled = options_.strategy.precision == Precision::fp16;
  position_.loss_scale = scaled ? options_.loss_scale : 1;
}

void Session::check_options() const {
  const auto counts = [](std::size_t value) { return value >= 1 && value <= most_samples; };
  const auto text = [](std::size_t value) { return std::to_string(value); };
  require(counts(options_.batch) && counts(options_.accumulate),
          "--batch and --accumulate count from 1, to at most " + text(most_samples),
          "--batch 24 --accumulate 1");
  require(options_.threads >= 1,
          "--threads " + std::to_string(options_.threads) + ": matrix products need at least one",
          "--threads 1, or as many as the cores that a rank has to itself");
  require(options_.checkpoint.folder.empty() || !options_.strategy.compresses(),
          "checkpoints do not save the gradients that --compress has not sent yet",
          "--checkpoint without --compress");
  require(options_.checkpoint.folder.empty() || !is_asynchronous(options_.strategy),
          "a checkpoint has the optimizer's state of one rank, and the ranks of " +
              options_.strategy.kind + " differ in it",
          "--checkpoint with ddp, zero1, zero2 or zero3");
  const std::size_t parts = static_cast<std::size_t>(world_.size()) * options_.accumulate;
  require(options_.batch >= parts,
          "a global batch of " + text(options_.batch) + " is too small for " +
              std::to_string(world_.size()) + " ranks with " + text(options_.accumulate) +
              " micro-steps each",
          "--batch " + text(parts) + " or more, or fewer ranks");
  require(options_.rate.peak > 0 && options_.rate.floor >= 0 && options_.clip >= 0 &&
              options_.loss_scale >= 1 && options_.loss_scale <= largest_loss_scale &&
              std::isfinite(options_.rate.floor) && options_.temperature > 0,
          "a rate, a limit or a scale is out of range",
          "a learning rate and a temperature above 0, --minimum-rate and --clip not below 0, a "
          "--loss-scale from 1 to 2^64");
}

void Session::check_prompt() const {
  const std::string& prompt = options_.prompt;
  const std::size_t begin = prompt.find_first_not_of(text_.characters());
  if (options_.sample == 0 || begin == std::string::npos) return;
  std::size_t end = begin + 1;  // with the rest of a character of UTF-8
  while (end < prompt.size() && (static_cast<unsigned char>(prompt[end]) & 0xc0U) == 0x80) ++end;
  reject("--prompt: the text has no " + readable(prompt.substr(begin, end - begin)) +
             ", so the model does not know it",
         "characters of the text: " + readable(text_.characters()));
}

StepRecord Session::step(bool asks) {
  watch_.take();
  if (!beside_) beside_ = sent();
  StepRecord record{.step = position_.step + 1};
  record.rate = options_.rate.at(position_.step);
  record.loss_scale = position_.loss_scale;
  const double sum = run_micro_steps(sampler_->at(position_.step));
  // Ranks that do not wait for each other know their own losses only.
  const bool alone = is_asynchronous(options_.strategy);
  record.loss = alone ? sum * world_.size() / static_cast<double>(targets_per_step())
                      : average(sum, targets_per_step(), asks);
  // Nothing is on the wire here: forward has waited for the parameters that the step before
  // gathered. Parameters that this step gathers count in the next step's record.
  record.traffic = sent() - *beside_ - recorded_;
  recorded_ = total(recorded_, record.traffic);
  if (!std::isfinite(record.loss))
    reject_together("the loss of step " + std::to_string(record.step) + " is not a number",
                    "a lower --learning-rate, a longer --warm-up, --clip 1, or float32");
  StepRequest request{.step = {.number = position_.taken + 1,
                               .learning_rate = record.rate,
                               .gradient_scale = 1 / position_.loss_scale},
                      .clip = options_.clip,
                      .skip_bad = options_.strategy.precision == Precision::fp16};
  const StepOutcome outcome = strategy_->step(request);
  record.norm = outcome.norm;
  record.skipped = outcome.skipped;
  judge(outcome);
  record.phases = watch_.take();
  return record;
}

/// The sum of this rank's losses.
double Session::run_micro_steps(const std::vector<std::size_t>& numbers) {
  const double scale = position_.loss_scale * static_cast<double>(world_.size()) /
                       static_cast<double>(targets_per_step());
  const std::span<const std::size_t> all = numbers;
  double loss = 0;
  strategy_->begin_step();
  for (std::size_t micro = 0; micro < options_.accumulate; ++micro) {
    const std::size_t begin = micro * all.size() / options_.accumulate;
    const std::size_t end = (micro + 1) * all.size() / options_.accumulate;
    Batch batch;
    {
      const auto scope = watch_.in(Phase::data);
      batch = text_.batch(Part::training, all.subspan(begin, end - begin));
    }
    strategy_->begin_micro_step(micro + 1 == options_.accumulate);
    {
      const auto scope = watch_.in(Phase::forward);
      loss += model_->forward(batch, *strategy_);
    }
    {
      const auto scope = watch_.in(Phase::backward);
      model_->backward(batch, *strategy_, scale);
      machine().finish();
    }
    strategy_->end_micro_step();
  }
  return loss;
}

/// Runs `work`, whose messages count in no step's record.
template <class Work>
void Session::beside_steps(Work work) {
  strategy_->settle();
  const Traffic before = sent();
  work();
  if (beside_) beside_ = total(*beside_, sent() - before);
}

double Session::average(double sum, std::size_t targets, bool asks) {
  const auto scope = watch_.in(Phase::communication);
  std::array<double, 2> sums{sum, asks ? 1.0 : 0.0};
  control_.all_reduce(sums);
  asked_ = sums[1] > 0;
  return sums[0] / static_cast<double>(targets);
}

// The loss scale is halved where gradients overflowed, and doubled after a calm stretch. Every rank
// sees the same outcome.
void Session::judge(const StepOutcome& outcome) {
  ++position_.step;
  if (outcome.skipped) {
    position_.good = 0;
    position_.loss_scale /= 2;
    if (position_.loss_scale >= 1) return;
    reject_together("gradients overflow in fp16 even without a loss scale (step " +
                        std::to_string(position_.step) + ")",
                    "a lower --learning-rate, or --precision bf16");
  }
  if (!std::isfinite(outcome.norm))
    reject_together("the gradient of step " + std::to_string(position_.step) + " is not a number",
                    "a lower --learning-rate or a longer --warm-up");
  ++position_.taken;
  if (options_.strategy.precision == Precision::fp16 && ++position_.good == calm_steps) {
    position_.good = 0;
    position_.loss_scale *= 2;
  }
}

Traffic Session::sent_in_steps() {
  strategy_->settle();
  return beside_ ? sent() - *beside_ : Traffic();
}

double Session::validate(std::size_t samples) {
  const std::size_t available = std::min(samples, text_.samples(Part::validation));
  const auto ranks = static_cast<std::size_t>(world_.size());
  const std::size_t batch =
      std::max(std::min(options_.batch / options_.accumulate, available), ranks);
  Sampler sampler({.samples = available,
                   .batch = batch,
                   .ranks = world_.size(),
                   .rank = world_.rank(),
                   .shuffle = false,
                   .drop_last = available >= batch});
  double loss = 0;
  beside_steps([&] {
    for (std::size_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      loss += model_->forward(text_.batch(Part::validation, sampler.at(step)), *strategy_);
    }
  });
  return average(loss, sampler.steps_per_epoch() * batch * options_.block);
}

// A resumed run may have other learning rates, precision, strategy or number of ranks. What a step
// consists of must stay the same.
Checkpoints Session::checkpoints(Hook hook) {
  Identity identity{{"heads", std::to_string(options_.model.heads)},
                    {"optimizer", options_.optimizer.kind},
                    {"data (its fingerprint)", std::to_string(text_.fingerprint())},
                    {"batch", std::to_string(options_.batch)},
                    {"seed", std::to_string(options_.seed)},
                    {"shuffling", options_.shuffle ? "on" : "off"},
                    {"an epoch's last batch", options_.drop_last ? "dropped" : "padded"}};
  return {options_.checkpoint, control_,  *strategy_,     workplace(),
          std::move(identity), position_, std::move(hook)};
}

void Session::check() {
  std::vector<std::uint64_t> own;
  std::vector<const Parameter*> parameters;
  beside_steps([&] {
    for (std::size_t u = 0; u < layout().units().size(); ++u) {
      const Unit& unit = layout().unit(u);
      const auto bytes = strategy_->replica(u);
      std::vector<std::byte> host(bytes.size());
      machine().read(bytes.data(), host.data(), bytes.size());
      const std::size_t element = bytes.size() / unit.size;
      for (const Parameter& parameter : unit.parameters) {
        own.push_back(fingerprint(std::span<const std::byte>(host).subspan(
            parameter.offset * element, parameter.size() * element)));
        parameters.push_back(&parameter);
      }
    }
  });
  const auto ranks = static_cast<std::size_t>(world_.size());
  const auto all = bench::gather_all(control_, std::span<const std::uint64_t>(own));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t tensor = i / ranks;
    const std::size_t rank = i % ranks;
    if (all[rank * own.size() + tensor] == all[tensor]) continue;
    reject_together("rank " + std::to_string(rank) + " holds other values of " +
                        parameters[tensor]->name + " than rank 0",
                    "report it: ranks that see the same gradients must hold the same parameters",
                    ErrorCode::internal);
  }
}

std::string Session::staleness_words() {
  const Staleness own = *strategy_->staleness();
  std::array<std::uint64_t, 2> sums{own.changes, own.steps};
  std::uint64_t longest = own.longest;
  control_.all_reduce(sums);
  control_.all_reduce(longest, ReduceOperator::max);
  const double mean =
      static_cast<double>(sums[1]) / static_cast<double>(std::max<std::uint64_t>(sums[0], 1));
  return format(
      "%s: ranks took %llu changes of peers, stale by %.2f steps on average, by %llu at most",
      strategy_->name().c_str(), static_cast<unsigned long long>(sums[0]), mean,
      static_cast<unsigned long long>(longest));
}

RunRecord Session::run_record() const {
  return {.ranks = world_.size(),
          .strategy = std::string(strategy_->name()),
          .parameters = layout().size(),
          .steps = options_.steps,
          .targets_per_step = targets_per_step(),
          .operations_per_step = model_->operations(options_.batch)};
}

// Every rank computes, as a strategy may need all ranks. Rank 0 draws, so all write the same text.
std::string Session::write(const std::string& prompt, std::size_t count, double temperature) {
  std::vector<std::int32_t> tokens;
  for (const char character : prompt) tokens.push_back(text_.token(character));
  if (tokens.empty()) tokens.push_back(text_.token('\n'));  // 0 where the text has no lines
  std::string text;
  Random random(mix(options_.seed, 2));
  while (text.size() < count) {
    const std::size_t length = std::min(tokens.size(), options_.block);
    Batch batch{.rows = 1, .columns = length};
    batch.tokens.assign(tokens.end() - static_cast<std::ptrdiff_t>(length), tokens.end());
    batch.targets.assign(length, 0);
    model_->forward(batch, *strategy_);
    const In last = model_->scores().last(text_.characters().size());
    std::vector<float> scores(last.size());
    machine().read(last.data(), scores.data(), last.size_bytes());
    std::int32_t next = draw(scores, temperature, random);
    control_.broadcast(next, 0);
    tokens.push_back(next);
    text += text_.characters()[static_cast<std::size_t>(next)];
  }
  return text;
}

}  // namespace rondo::train
