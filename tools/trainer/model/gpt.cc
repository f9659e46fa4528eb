#include "tools/trainer/model/gpt.h"

#include <algorithm>
#include <cmath>
#include <string>

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

constexpr double deviation = 0.02;  // GPT-2's

/// The unit of block `index` (from 0) of `layers`.
Unit block_unit(std::size_t index, std::size_t layers, std::size_t width) {
  Unit unit{"block" + std::to_string(index + 1)};
  // The more blocks add to the residual stream, the smaller their start values are.
  const double residual = deviation / std::sqrt(2.0 * static_cast<double>(layers));
  const auto norm = [&](const std::string& name) {
    unit.add({unit.name + "." + name + ".gain", {width}, Start::ones});
    unit.add({unit.name + "." + name + ".bias", {width}, Start::zeros});
  };
  const auto linear = [&](const std::string& name, std::size_t outputs, std::size_t inputs,
                          double spread) {
    unit.add({unit.name + "." + name + ".weight", {outputs, inputs}, Start::normal, spread});
    unit.add({unit.name + "." + name + ".bias", {outputs}, Start::zeros});
  };
  norm("norm1");
  linear("packing", 3 * width, width, deviation);
  linear("projection", width, width, residual);
  norm("norm2");
  linear("widening", 4 * width, width, deviation);
  linear("narrowing", width, 4 * width, residual);
  return unit;
}

Layout gpt_layout(const ModelOptions& options) {
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
    unit.cut(flat, {&tokens, &positions, &norm.gain, &norm.bias});
  }
  std::span<T> tokens, positions;
  Norm<T> norm{};
};

/// A block's parameters, or their gradients.
template <class T>
struct Gpt::BlockView {
  BlockView(std::span<T> flat, const Unit& unit) {
    unit.cut(flat, {&norm1.gain, &norm1.bias, &packing.weight, &packing.bias, &projection.weight,
                    &projection.bias, &norm2.gain, &norm2.bias, &widening.weight, &widening.bias,
                    &narrowing.weight, &narrowing.bias});
  }
  Norm<T> norm1{}, norm2{};
  Linear<T> packing{}, projection{}, widening{}, narrowing{};
};

/// `sequences`: how many the operations take at once.
Gpt::Activations::Activations(Ledger& ledger, const ModelOptions& options,
                              const AttentionShape& wanted, std::size_t sequences)
    : shape(wanted) {
  const std::size_t rows = shape.rows();
  const auto take = [&](std::size_t count) {
    return Array<float>(ledger, Use::activations, count);
  };
  const auto row_of = [&](std::size_t width) { return take(rows * width); };
  const auto norm = [&] { return Normal{row_of(shape.width), row_of(1), row_of(1)}; };
  for (std::size_t i = 0; i <= options.layers; ++i) streams.push_back(row_of(shape.width));
  const std::size_t sets = options.checkpoint_activations ? 1 : options.layers;
  for (std::size_t i = 0; i < sets; ++i)
    kept.push_back({norm(), norm(), row_of(3 * shape.width), take(shape.weights()),
                    row_of(shape.width), row_of(shape.width), row_of(4 * shape.width),
                    row_of(4 * shape.width)});
  normal = norm();
  scores = row_of(options.outputs);
  losses = {ledger, Use::activations, rows};
  gradient = row_of(shape.width);
  narrow = row_of(shape.width);
  wide = row_of(4 * shape.width);
  packed = row_of(3 * shape.width);
  weights = take(sequences * shape.length * shape.length);
}

Gpt::Gpt(const ModelOptions& options, Ledger& ledger)
    : options_(options),
      ledger_(ledger),
      math_(ledger.machine(), options.precision),
      exact_(ledger.machine()) {
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
  strategy.before_forward(0);
  const RootView<const float> root(strategy.parameters(0), layout_.unit(0));
  math_.embed(batch.tokens, batch.columns, root.tokens, root.positions, a.streams[0]);
  for (std::size_t i = 0; i < options_.layers; ++i) {
    strategy.before_forward(i + 1);
    block_forward({strategy.parameters(i + 1), layout_.unit(i + 1)}, i);
    strategy.after_forward(i + 1);
  }
  math_.layer_norm(a.streams.back(), root.norm, a.normal.values, a.normal.statistics());
  exact_.linear(a.shape.rows(), a.normal.values, {root.tokens, {}}, a.scores);
  strategy.after_forward(0);
  return math_.cross_entropy(a.scores, batch.targets, a.losses);
}

void Gpt::backward(const Batch& batch, Strategy& strategy, double scale) {
  auto& a = *activations_;
  strategy.before_backward(0);
  const RootView<const float> root(strategy.parameters(0), layout_.unit(0));
  const RootView<float> gradients(strategy.gradients(0), layout_.unit(0));
  math_.cross_entropy_backward(a.scores, batch.targets, static_cast<float>(scale));
  math_.linear_backward(a.shape.rows(), a.scores, a.normal.values, root.tokens, a.narrow,
                        {gradients.tokens, {}});
  math_.zero(a.gradient);
  math_.layer_norm_backward(a.narrow, a.streams.back(), root.norm.gain, a.normal.statistics(),
                            a.gradient, gradients.norm);
  for (std::size_t i = options_.layers; i-- > 0;) {
    const Unit& unit = layout_.unit(i + 1);
    strategy.before_backward(i + 1);
    block_backward({strategy.parameters(i + 1), unit}, {strategy.gradients(i + 1), unit}, i);
    strategy.after_backward(i + 1);
  }
  math_.embed_backward(a.gradient, batch.tokens, batch.columns, gradients.tokens,
                       gradients.positions);
  strategy.after_backward(0);
}

void Gpt::block_forward(const BlockView<const float>& p, std::size_t index) {
  auto& a = *activations_;
  BlockKept& kept = a.kept_of(index);
  const Out input = a.streams[index].span(), output = a.streams[index + 1].span();
  const Out middle = kept.middle.span();
  const std::size_t rows = a.shape.rows();
  math_.layer_norm(input, p.norm1, kept.normal1.values, kept.normal1.statistics());
  math_.linear(rows, kept.normal1.values, p.packing, kept.packed);
  math_.attention(a.shape, kept.packed, kept.weights, kept.mixed);
  exact_.linear(rows, kept.mixed, p.projection, middle);
  math_.add(input, middle, middle);
  math_.layer_norm(middle, p.norm2, kept.normal2.values, kept.normal2.statistics());
  math_.linear(rows, kept.normal2.values, p.widening, kept.wide);
  math_.gelu(kept.wide, kept.active);
  exact_.linear(rows, kept.active, p.narrowing, output);
  math_.add(middle, output, output);
}

/// a.gradient: of the output when called, of the input when it returns.
void Gpt::block_backward(const BlockView<const float>& p, const BlockView<float>& g,
                         std::size_t index) {
  auto& a = *activations_;
  // The next stream is made again, to the same bits.
  if (options_.checkpoint_activations) block_forward(p, index);
  BlockKept& kept = a.kept_of(index);
  const std::size_t rows = a.shape.rows();
  exact_.linear_backward(rows, a.gradient, kept.active, p.narrowing.weight, a.wide, g.narrowing);
  math_.gelu_backward(a.wide, kept.wide, a.wide);
  math_.linear_backward(rows, a.wide, kept.normal2.values, p.widening.weight, a.narrow, g.widening);
  math_.layer_norm_backward(a.narrow, kept.middle, p.norm2.gain, kept.normal2.statistics(),
                            a.gradient, g.norm2);
  math_.linear_backward(rows, a.gradient, kept.mixed, p.projection.weight, a.narrow, g.projection);
  math_.attention_backward(a.shape, a.narrow, kept.packed, kept.weights, a.weights, a.packed);
  math_.linear_backward(rows, a.packed, kept.normal1.values, p.packing.weight, a.narrow, g.packing);
  math_.layer_norm_backward(a.narrow, a.streams[index], p.norm1.gain, kept.normal1.statistics(),
                            a.gradient, g.norm1);
}

double Gpt::operations(std::size_t rows) const {
  const auto tokens = static_cast<double>(rows * options_.inputs);
  const auto products = static_cast<double>(layout_.size() - options_.inputs * options_.width);
  const auto attention_part =
      2.0 * static_cast<double>(options_.layers * options_.inputs * options_.width);
  return 6 * tokens * (products + attention_part);
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
