#include "tools/trainer/model/mlp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/trainer/math/compose.h"
#include "tools/trainer/memory/array.h"

namespace rondo::train {
namespace {

// A unit for each layer: `layers` hidden ones, and one for the scores.
Layout mlp_layout(const ModelOptions& options) {
  std::vector<Unit> units;
  std::size_t inputs = options.inputs;
  for (std::size_t layer = 0; layer <= options.layers; ++layer) {
    const std::size_t outputs = layer < options.layers ? options.width : options.outputs;
    const double deviation = std::sqrt(2.0 / static_cast<double>(inputs));
    Unit unit{"layer" + std::to_string(layer + 1)};
    unit.add({unit.name + ".weight", {outputs, inputs}, Start::normal, deviation});
    unit.add({unit.name + ".bias", {outputs}, Start::zeros});
    units.push_back(std::move(unit));
    inputs = outputs;
  }
  return Layout(std::move(units));
}

template <class Real>
class Mlp final : public Model<Real> {
 public:
  Mlp(const ModelOptions& options, Ledger& ledger, const Math<Real>& math)
      : options_(options), ledger_(ledger), math_(math), layout_(mlp_layout(options)) {}

  const Layout& layout() const override { return layout_; }
  std::span<const Real> scores() const override { return sums_.back().span(); }

  void reserve(std::size_t rows, std::size_t) override {
    if (rows == rows_ && !values_.empty()) return;
    values_.clear();
    sums_.clear();
    const auto take = [&](std::size_t columns) {
      return Array<Real>(ledger_, Use::activations, rows * columns);
    };
    values_.push_back(take(options_.inputs));
    for (std::size_t layer = 0; layer < options_.layers; ++layer) {
      values_.push_back(take(options_.width));
      sums_.push_back(take(options_.width));
    }
    sums_.push_back(take(options_.outputs));
    gradient_ = take(options_.width);
    inner_ = take(options_.width);
    rows_ = rows;
  }

  double forward(const Batch& batch, Store<Real>& store) override {
    reserve(batch.rows, batch.columns);
    math_.load(batch.features, values_[0].span());
    for (std::size_t layer = 0; layer <= options_.layers; ++layer) {
      store.before_forward(layer);
      const auto flat = store.parameters(layer);
      linear<Real>(math_, values_[layer].span(), weight(flat, layer), bias(flat, layer),
                   sums_[layer].span());
      store.after_forward(layer);
      settle(sums_[layer].span());
      if (layer < options_.layers) {
        math_.gelu(sums_[layer].span(), values_[layer + 1].span());
        settle(values_[layer + 1].span());
      }
    }
    return math_.cross_entropy(sums_.back().span(), batch.targets);
  }

  void backward(const Batch& batch, Store<Real>& store, double scale) override {
    math_.cross_entropy_backward(sums_.back().span(), batch.targets, static_cast<Real>(scale));
    settle(sums_.back().span());
    for (std::size_t layer = options_.layers + 1; layer-- > 0;) layer_backward(store, layer);
  }

  double operations(std::size_t rows) const override {
    return 6 * static_cast<double>(rows) * static_cast<double>(layout_.size());
  }

 private:
  void settle(Out<Real> values) const { math_.round_to(values, options_.precision); }
  template <class T>
  std::span<T> weight(std::span<T> flat, std::size_t layer) const {
    return flat.first(layout_.unit(layer).parameters[1].offset);
  }
  template <class T>
  std::span<T> bias(std::span<T> flat, std::size_t layer) const {
    return flat.subspan(layout_.unit(layer).parameters[1].offset);
  }

  // gradient_ holds the gradient of a layer's sums (for the last layer: in place of its scores). It
  // is replaced by the gradient of the sums of the layer before.
  void layer_backward(Store<Real>& store, std::size_t layer) {
    const bool last = layer == options_.layers;
    const In<Real> outer = last ? In<Real>(sums_.back().span()) : gradient_.span();
    store.before_backward(layer);
    const auto gradients = store.gradients(layer);
    const Out<Real> inner = layer > 0 ? inner_.span() : Out<Real>{};
    linear_backward<Real>(math_, outer, values_[layer].span(),
                          weight(store.parameters(layer), layer),
                          {inner, weight(gradients, layer), bias(gradients, layer)});
    store.after_backward(layer);
    if (layer == 0) return;
    math_.gelu_backward(inner_.span(), sums_[layer - 1].span(), gradient_.span());
    settle(gradient_.span());
  }

  ModelOptions options_;
  Ledger& ledger_;
  const Math<Real>& math_;
  Layout layout_;
  std::size_t rows_ = 0;
  std::vector<Array<Real>> values_{};  ///< [i] enters layer i
  std::vector<Array<Real>> sums_{};    ///< [i] leaves layer i, before GELU; the last are the scores
  Array<Real> gradient_{};
  Array<Real> inner_{};
};

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_mlp(const ModelOptions& options, Ledger& ledger,
                                      const Math<Real>& math) {
  return std::make_unique<Mlp<Real>>(options, ledger, math);
}

template std::unique_ptr<Model<float>> make_mlp(const ModelOptions&, Ledger&, const Math<float>&);
template std::unique_ptr<Model<double>> make_mlp(const ModelOptions&, Ledger&, const Math<double>&);

}  // namespace rondo::train
