#include "tools/trainer/model/gpt.h"

#include <algorithm>

#include "tools/trainer/data/random.h"
#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

void check_model(const ModelOptions& options) {
  constexpr std::size_t most = 1U << 16;  // products of these must not overflow
  require(options.outputs > 0 && options.inputs > 0 && options.layers > 0 && options.width > 0,
          "a model needs at least one layer, input and output, and a width", "numbers above 0");
  require(options.outputs <= most && options.layers <= most && options.width <= most,
          "a model with so many layers, or of such a width, is too large",
          "numbers up to " + std::to_string(most));
  require(options.heads > 0 && options.width % options.heads == 0,
          "a width of " + std::to_string(options.width) + " does not split into " +
              std::to_string(options.heads) + " heads",
          "--width as a multiple of --heads");
}

Layout gpt_layout(const ModelOptions& options) {
  constexpr double deviation = 0.02;
  std::vector<Unit> units(1);
  units[0].name = "root";
  units[0].add({"token.table", {options.outputs, options.width}, Start::normal, deviation});
  units[0].add({"position.table", {options.inputs, options.width}, Start::normal, deviation});
  units[0].add({"norm.gain", {options.width}, Start::ones});
  units[0].add({"norm.bias", {options.width}, Start::zeros});
  for (std::size_t block = 0; block < options.layers; ++block)
    units.push_back(block_unit(block, options.layers, options.width));
  return Layout(std::move(units));
}

}  // namespace

template <class T>
struct Gpt::RootView {
  RootView(std::span<T> flat, const Unit& unit) {
    unit.cut(flat, {&tokens, &positions, &gain, &bias});
  }
  std::span<T> tokens, positions, gain, bias;
};

Gpt::Activations::Activations(Ledger& ledger, const ModelOptions& options,
                              const AttentionShape& wanted, std::size_t sequences)
    : shape(wanted), scratch(ledger, shape, sequences) {
  const std::size_t rows = shape.blocks * shape.length;
  const auto take = [&](std::size_t count) {
    return Array<float>(ledger, Use::activations, count);
  };
  for (std::size_t i = 0; i <= options.layers; ++i) streams.push_back(take(rows * shape.width));
  const std::size_t sets = options.checkpoint_activations ? 1 : options.layers;
  for (std::size_t i = 0; i < sets; ++i) kept.emplace_back(ledger, shape);
  mean = take(rows);
  inverse = take(rows);
  normal = take(rows * shape.width);
  gradient = take(rows * shape.width);
  scores = take(rows * options.outputs);
  losses = {ledger, Use::activations, rows};
}

Gpt::Gpt(const ModelOptions& options, Ledger& ledger)
    : options_(options), ledger_(ledger), math_(ledger.machine(), options.precision) {
  check_model(options);
  layout_ = gpt_layout(options);
}

void Gpt::reserve(std::size_t rows, std::size_t columns) {
  if (activations_ && activations_->shape.blocks == rows && activations_->shape.length == columns)
    return;
  activations_.reset();
  activations_.emplace(ledger_, options_,
                       AttentionShape{rows, columns, options_.heads, options_.width},
                       math_.sequences_at_once(rows));
}

double Gpt::forward(const Batch& batch, Strategy& strategy) {
  reserve(batch.rows, batch.columns);
  auto& a = *activations_;
  const Block block(math_, a.shape);
  strategy.before_forward(0);
  const RootView<const float> root(strategy.parameters(0), layout_.unit(0));
  math_.embed(batch.tokens, batch.columns, root.tokens, root.positions, a.streams[0]);
  math_.settle(a.streams[0]);
  for (std::size_t i = 0; i < options_.layers; ++i) {
    strategy.before_forward(i + 1);
    block.forward({strategy.parameters(i + 1), layout_.unit(i + 1)}, a.streams[i], a.kept_of(i),
                  a.streams[i + 1]);
    strategy.after_forward(i + 1);
  }
  math_.layer_norm(a.streams.back(), root.gain, root.bias, a.normal, {a.mean, a.inverse});
  math_.settle(a.normal);
  const Matrix<const float> table{root.tokens.data(), options_.outputs, options_.width};
  math_.multiply({.a = {a.normal.data(), a.losses.size(), options_.width},
                  .b = table.flipped(),
                  .c = {a.scores.data(), a.losses.size(), options_.outputs}});
  strategy.after_forward(0);
  return math_.cross_entropy(a.scores, batch.targets, a.losses);
}

void Gpt::backward(const Batch& batch, Strategy& strategy, double scale) {
  auto& a = *activations_;
  strategy.before_backward(0);
  const RootView<const float> root(strategy.parameters(0), layout_.unit(0));
  const RootView<float> gradients(strategy.gradients(0), layout_.unit(0));
  math_.cross_entropy_backward(a.scores, batch.targets, static_cast<float>(scale));
  math_.settle(a.scores);
  head_backward(root, gradients);
  for (std::size_t i = options_.layers; i-- > 0;) block_backward(strategy, i);
  math_.embed_backward(a.gradient, batch.tokens, batch.columns, gradients.tokens,
                       gradients.positions);
  strategy.after_backward(0);
}

double Gpt::operations(std::size_t rows) const {
  const auto tokens = static_cast<double>(rows * options_.inputs);
  const auto products = static_cast<double>(layout_.size() - options_.inputs * options_.width);
  const auto attention_part =
      2.0 * static_cast<double>(options_.layers * options_.inputs * options_.width);
  return 6 * tokens * (products + attention_part);
}

// Computes the gradient of the last stream from those of the scores, into `gradient`.
void Gpt::head_backward(const RootView<const float>& root, const RootView<float>& gradients) {
  auto& a = *activations_;
  const std::size_t rows = a.losses.size();
  const Matrix<const float> scores{a.scores.data(), rows, options_.outputs};
  math_.multiply({.a = scores,
                  .b = {root.tokens.data(), options_.outputs, options_.width},
                  .c = {a.scratch.narrow.data(), rows, options_.width}});
  math_.multiply({.a = scores.flipped(),
                  .b = {a.normal.data(), rows, options_.width},
                  .c = {gradients.tokens.data(), options_.outputs, options_.width},
                  .keep = 1});
  math_.settle(a.scratch.narrow);
  math_.zero(a.gradient);
  math_.layer_norm_backward(a.scratch.narrow, a.streams.back(), root.gain, {a.mean, a.inverse},
                            {a.gradient, gradients.gain, gradients.bias});
  math_.settle(a.gradient);
}

void Gpt::block_backward(Strategy& strategy, std::size_t index) {
  auto& a = *activations_;
  const Block block(math_, a.shape);
  strategy.before_backward(index + 1);
  const BlockView<const float> parameters(strategy.parameters(index + 1), layout_.unit(index + 1));
  const auto input = a.streams[index].span();
  if (options_.checkpoint_activations) {  // the next stream is made again, to the same bits
    block.forward(parameters, input, a.kept_of(index), a.streams[index + 1]);
  }
  block.backward(parameters, {strategy.gradients(index + 1), layout_.unit(index + 1)}, input,
                 a.kept_of(index), a.scratch, a.gradient);
  strategy.after_backward(index + 1);
}

void start_values(const Unit& unit, std::uint64_t seed, std::span<float> values) {
  for (const Parameter& parameter : unit.parameters) {
    const auto run = values.subspan(parameter.offset, parameter.size());
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (parameter.start == Start::normal) {
        Random random(mix(seed, unit.begin + parameter.offset + i));
        run[i] = static_cast<float>(parameter.deviation * random.normal());
      } else {
        run[i] = parameter.start == Start::ones ? 1.0F : 0.0F;
      }
    }
  }
}

}  // namespace rondo::train
