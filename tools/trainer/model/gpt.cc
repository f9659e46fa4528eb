#include "tools/trainer/model/gpt.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tools/trainer/model/block.h"

namespace rondo::train {
namespace {

Layout gpt_layout(const ModelOptions& options) {
  constexpr double deviation = 0.02;
  std::vector<Unit> units(1);
  Unit& root = units[0];
  root.name = "root";
  root.add({"token.table", {options.outputs, options.width}, Start::normal, deviation});
  root.add({"position.table", {options.inputs, options.width}, Start::normal, deviation});
  root.add({"norm.gain", {options.width}, Start::ones});
  root.add({"norm.bias", {options.width}, Start::zeros});
  for (std::size_t block = 0; block < options.layers; ++block) {
    units.push_back(block_unit(block, options.layers, options.width));
  }
  return Layout(std::move(units));
}

template <class T>
struct RootView {
  std::span<T> tokens, positions, gain, bias;
  RootView(std::span<T> flat, const Unit& unit) {
    std::span<T>* const members[] = {&tokens, &positions, &gain, &bias};
    for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
      *members[i] = flat.subspan(unit.parameters[i].offset, unit.parameters[i].size());
    }
  }
};

// Arrays for one shape of batch. With checkpointing, one set serves all blocks in turn.
template <class Real>
struct Activations {
  Activations(Ledger& ledger, const ModelOptions& options, const AttentionShape& shape_,
              std::size_t sequences)
      : shape(shape_), scratch(ledger, shape, sequences) {
    const std::size_t rows = shape.blocks * shape.length;
    const auto take = [&](std::size_t count) {
      return Array<Real>(ledger, Use::activations, count);
    };
    for (std::size_t i = 0; i <= options.layers; ++i) streams.push_back(take(rows * shape.width));
    const std::size_t sets = options.checkpoint_activations ? 1 : options.layers;
    for (std::size_t i = 0; i < sets; ++i) kept.emplace_back(ledger, shape);
    mean = take(rows);
    inverse = take(rows);
    normal = take(rows * shape.width);
    gradient = take(rows * shape.width);
    scores = take(rows * options.outputs);
  }
  BlockKept<Real>& kept_of(std::size_t block) { return kept[std::min(block, kept.size() - 1)]; }

  AttentionShape shape;
  BlockScratch<Real> scratch;
  std::vector<Array<Real>> streams{};  ///< [i] enters block i; the last enters the final norm
  std::vector<BlockKept<Real>> kept{};
  Array<Real> mean, inverse, normal, gradient, scores;
};

template <class Real>
class Gpt final : public Model<Real> {
 public:
  Gpt(const ModelOptions& options, Ledger& ledger, const Math<Real>& math)
      : options_(options), ledger_(ledger), math_(math), layout_(gpt_layout(options)) {}

  const Layout& layout() const override { return layout_; }
  std::span<const Real> scores() const override { return activations_->scores.span(); }

  void reserve(std::size_t rows, std::size_t columns) override {
    if (activations_ && activations_->shape.blocks == rows &&
        activations_->shape.length == columns) {
      return;
    }
    activations_.reset();
    const AttentionShape shape{rows, columns, options_.heads, options_.width};
    activations_.emplace(ledger_, options_, shape, math_.sequences_at_once(rows));
  }

  double forward(const Batch& batch, Store<Real>& store) override {
    reserve(batch.rows, batch.columns);
    auto& a = *activations_;
    const Block<Real> block(math_, a.shape, options_.precision);
    store.before_forward(0);
    const auto root = root_view(store);
    math_.embed(batch.tokens, batch.columns, root.tokens, root.positions, a.streams[0].span());
    settle(a.streams[0].span());
    for (std::size_t i = 0; i < options_.layers; ++i) {
      store.before_forward(i + 1);
      block.forward(block_view(store, i), a.streams[i].span(), a.kept_of(i),
                    a.streams[i + 1].span());
      store.after_forward(i + 1);
    }
    math_.layer_norm(a.streams.back().span(), root.gain, root.bias, a.normal.span(),
                     {a.mean.span(), a.inverse.span()});
    settle(a.normal.span());
    head(root);
    store.after_forward(0);
    return math_.cross_entropy(a.scores.span(), batch.targets);
  }

  void backward(const Batch& batch, Store<Real>& store, double scale) override {
    auto& a = *activations_;
    store.before_backward(0);
    const auto root = root_view(store);
    const RootView<Real> gradients(store.gradients(0), layout_.unit(0));
    math_.cross_entropy_backward(a.scores.span(), batch.targets, static_cast<Real>(scale));
    settle(a.scores.span());
    head_backward(root, gradients);
    for (std::size_t i = options_.layers; i-- > 0;) block_backward(store, i);
    math_.embed_backward(a.gradient.span(), batch.tokens, batch.columns, gradients.tokens,
                         gradients.positions);
    store.after_backward(0);
  }

  double operations(std::size_t rows) const override {
    const auto tokens = static_cast<double>(rows * options_.inputs);
    const auto products = static_cast<double>(layout_.size() - options_.inputs * options_.width);
    const auto attention_part =
        2.0 * static_cast<double>(options_.layers * options_.inputs * options_.width);
    return 6 * tokens * (products + attention_part);
  }

 private:
  void settle(Out<Real> values) const { math_.round_to(values, options_.precision); }
  RootView<const Real> root_view(Store<Real>& store) const {
    return {store.parameters(0), layout_.unit(0)};
  }
  BlockView<const Real> block_view(Store<Real>& store, std::size_t block) const {
    return {store.parameters(block + 1), layout_.unit(block + 1)};
  }

  void head(const RootView<const Real>& root) {
    auto& a = *activations_;
    math_.multiply({.rows = a.shape.blocks * a.shape.length,
                    .columns = options_.outputs,
                    .inner = options_.width,
                    .a = {a.normal.data(), options_.width},
                    .b = {root.tokens.data(), options_.width, true},
                    .c = a.scores.data(),
                    .stride = options_.outputs});
  }

  // Computes the gradient of the last stream from those of the scores, into `gradient`.
  void head_backward(const RootView<const Real>& root, const RootView<Real>& gradients) {
    auto& a = *activations_;
    const std::size_t rows = a.shape.blocks * a.shape.length;
    math_.multiply({.rows = rows,
                    .columns = options_.width,
                    .inner = options_.outputs,
                    .a = {a.scores.data(), options_.outputs},
                    .b = {root.tokens.data(), options_.width},
                    .c = a.scratch.narrow.data(),
                    .stride = options_.width});
    math_.multiply({.rows = options_.outputs,
                    .columns = options_.width,
                    .inner = rows,
                    .a = {a.scores.data(), options_.outputs, true},
                    .b = {a.normal.data(), options_.width},
                    .c = gradients.tokens.data(),
                    .stride = options_.width,
                    .keep = 1});
    settle(a.scratch.narrow.span());
    math_.zero(a.gradient.span());
    math_.layer_norm_backward(a.scratch.narrow.span(), a.streams.back().span(), root.gain,
                              {a.mean.span(), a.inverse.span()},
                              {a.gradient.span(), gradients.gain, gradients.bias});
    settle(a.gradient.span());
  }

  void block_backward(Store<Real>& store, std::size_t index) {
    auto& a = *activations_;
    const Block<Real> block(math_, a.shape, options_.precision);
    store.before_backward(index + 1);
    const auto parameters = block_view(store, index);
    const auto input = a.streams[index].span();
    if (options_.checkpoint_activations) {  // the next stream is made again, to the same bits
      block.forward(parameters, input, a.kept_of(index), a.streams[index + 1].span());
    }
    block.backward(parameters, {store.gradients(index + 1), layout_.unit(index + 1)}, input,
                   a.kept_of(index), a.scratch, a.gradient.span());
    store.after_backward(index + 1);
  }

  ModelOptions options_;
  Ledger& ledger_;
  const Math<Real>& math_;
  Layout layout_;
  std::optional<Activations<Real>> activations_{};
};

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_gpt(const ModelOptions& options, Ledger& ledger,
                                      const Math<Real>& math) {
  return std::make_unique<Gpt<Real>>(options, ledger, math);
}

template std::unique_ptr<Model<float>> make_gpt(const ModelOptions&, Ledger&, const Math<float>&);
template std::unique_ptr<Model<double>> make_gpt(const ModelOptions&, Ledger&, const Math<double>&);

}  // namespace rondo::train
