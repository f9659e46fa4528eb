#include "tools/trainer/model/block.h"

#include <cmath>

#include "tools/trainer/math/compose.h"

namespace rondo::train {
namespace {

constexpr double deviation = 0.02;  // GPT-2's

}  // namespace

template <class T>
BlockView<T>::BlockView(std::span<T> flat, const Unit& unit) {
  std::span<T>* const members[] = {
      &gain1, &bias1, &packing_weight,  &packing_bias,  &projection_weight, &projection_bias,
      &gain2, &bias2, &widening_weight, &widening_bias, &narrowing_weight,  &narrowing_bias};
  std::size_t index = 0;
  for (const Parameter& parameter : unit.parameters) {
    *members[index++] = flat.subspan(parameter.offset, parameter.size());
  }
}

Unit block_unit(std::size_t index, std::size_t layers, std::size_t width) {
  Unit unit{"block" + std::to_string(index + 1)};
  const std::string prefix = unit.name + ".";
  // The more blocks add to the residual stream, the smaller their start values are.
  const double residual = deviation / std::sqrt(2.0 * static_cast<double>(layers));
  unit.add({prefix + "norm1.gain", {width}, Start::ones});
  unit.add({prefix + "norm1.bias", {width}, Start::zeros});
  unit.add({prefix + "packing.weight", {3 * width, width}, Start::normal, deviation});
  unit.add({prefix + "packing.bias", {3 * width}, Start::zeros});
  unit.add({prefix + "projection.weight", {width, width}, Start::normal, residual});
  unit.add({prefix + "projection.bias", {width}, Start::zeros});
  unit.add({prefix + "norm2.gain", {width}, Start::ones});
  unit.add({prefix + "norm2.bias", {width}, Start::zeros});
  unit.add({prefix + "widening.weight", {4 * width, width}, Start::normal, deviation});
  unit.add({prefix + "widening.bias", {4 * width}, Start::zeros});
  unit.add({prefix + "narrowing.weight", {width, 4 * width}, Start::normal, residual});
  unit.add({prefix + "narrowing.bias", {width}, Start::zeros});
  return unit;
}

template <class Real>
BlockKept<Real>::BlockKept(Ledger& ledger, const AttentionShape& shape) {
  const std::size_t rows = shape.blocks * shape.length;
  const auto take = [&](std::size_t count) { return Array<Real>(ledger, Use::activations, count); };
  for (auto* statistic : {&mean1, &inverse1, &mean2, &inverse2}) *statistic = take(rows);
  for (auto* array : {&normal1, &mixed, &middle, &normal2}) *array = take(rows * shape.width);
  packed = take(rows * 3 * shape.width);
  weights = take(shape.weights());
  wide = take(rows * 4 * shape.width);
  active = take(rows * 4 * shape.width);
}

template <class Real>
BlockScratch<Real>::BlockScratch(Ledger& ledger, const AttentionShape& shape,
                                 std::size_t sequences) {
  const std::size_t rows = shape.blocks * shape.length;
  narrow = {ledger, Use::activations, rows * shape.width};
  wide = {ledger, Use::activations, rows * 4 * shape.width};
  packed = {ledger, Use::activations, rows * 3 * shape.width};
  weights = {ledger, Use::activations, sequences * shape.length * shape.length};
}

template <class Real>
void Block<Real>::forward(const BlockView<const Real>& p, In<Real> input, BlockKept<Real>& kept,
                          Out<Real> output) const {
  const auto middle = kept.middle.span();
  math_.layer_norm(input, p.gain1, p.bias1, kept.normal1.span(),
                   {kept.mean1.span(), kept.inverse1.span()});
  settle(kept.normal1.span());
  linear<Real>(math_, kept.normal1.span(), p.packing_weight, p.packing_bias, kept.packed.span());
  settle(kept.packed.span());
  attention<Real>(math_, shape_, kept.packed.span(), kept.weights.span(), kept.mixed.span());
  settle(kept.mixed.span());
  linear<Real>(math_, kept.mixed.span(), p.projection_weight, p.projection_bias, middle);
  math_.add(input, middle, middle);
  settle(middle);
  math_.layer_norm(middle, p.gain2, p.bias2, kept.normal2.span(),
                   {kept.mean2.span(), kept.inverse2.span()});
  settle(kept.normal2.span());
  linear<Real>(math_, kept.normal2.span(), p.widening_weight, p.widening_bias, kept.wide.span());
  settle(kept.wide.span());
  math_.gelu(kept.wide.span(), kept.active.span());
  settle(kept.active.span());
  linear<Real>(math_, kept.active.span(), p.narrowing_weight, p.narrowing_bias, output);
  math_.add(middle, output, output);
  settle(output);
}

template <class Real>
void Block<Real>::backward(const BlockView<const Real>& p, const BlockView<Real>& g, In<Real> input,
                           BlockKept<Real>& kept, BlockScratch<Real>& scratch,
                           Out<Real> gradient) const {
  const auto narrow_scratch = scratch.narrow.span();
  const auto wide_scratch = scratch.wide.span();
  linear_backward<Real>(math_, gradient, kept.active.span(), p.narrowing_weight,
                        {wide_scratch, g.narrowing_weight, g.narrowing_bias});
  math_.gelu_backward(wide_scratch, kept.wide.span(), wide_scratch);
  settle(wide_scratch);
  linear_backward<Real>(math_, wide_scratch, kept.normal2.span(), p.widening_weight,
                        {narrow_scratch, g.widening_weight, g.widening_bias});
  settle(narrow_scratch);
  math_.layer_norm_backward(narrow_scratch, kept.middle.span(), p.gain2,
                            {kept.mean2.span(), kept.inverse2.span()},
                            {gradient, g.gain2, g.bias2});
  settle(gradient);
  attention_backward_part(p, g, input, kept, scratch, gradient);
}

template <class Real>
void Block<Real>::attention_backward_part(const BlockView<const Real>& p, const BlockView<Real>& g,
                                          In<Real> input, BlockKept<Real>& kept,
                                          BlockScratch<Real>& scratch, Out<Real> gradient) const {
  const auto narrow_scratch = scratch.narrow.span();
  const auto packed_scratch = scratch.packed.span();
  linear_backward<Real>(math_, gradient, kept.mixed.span(), p.projection_weight,
                        {narrow_scratch, g.projection_weight, g.projection_bias});
  settle(narrow_scratch);
  attention_backward<Real>(math_, shape_, narrow_scratch, kept.packed.span(), kept.weights.span(),
                           scratch.weights.span(), packed_scratch);
  settle(packed_scratch);
  linear_backward<Real>(math_, packed_scratch, kept.normal1.span(), p.packing_weight,
                        {narrow_scratch, g.packing_weight, g.packing_bias});
  settle(narrow_scratch);
  math_.layer_norm_backward(narrow_scratch, input, p.gain1,
                            {kept.mean1.span(), kept.inverse1.span()},
                            {gradient, g.gain1, g.bias1});
  settle(gradient);
}

template struct BlockView<float>;
template struct BlockView<double>;
template struct BlockView<const float>;
template struct BlockView<const double>;
template struct BlockKept<float>;
template struct BlockKept<double>;
template struct BlockScratch<float>;
template struct BlockScratch<double>;
template class Block<float>;
template class Block<double>;

}  // namespace rondo::train
