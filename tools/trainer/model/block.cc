#include "tools/trainer/model/block.h"

#include <cmath>
#include <string>

namespace rondo::train {

Unit block_unit(std::size_t index, std::size_t layers, std::size_t width) {
  constexpr double deviation = 0.02;  // GPT-2's
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

BlockKept::BlockKept(Ledger& ledger, const AttentionShape& shape) {
  const std::size_t rows = shape.blocks * shape.length;
  const auto take = [&](std::size_t count) {
    return Array<float>(ledger, Use::activations, count);
  };
  for (auto* statistic : {&mean1, &inverse1, &mean2, &inverse2}) *statistic = take(rows);
  for (auto* array : {&normal1, &mixed, &middle, &normal2}) *array = take(rows * shape.width);
  packed = take(rows * 3 * shape.width);
  weights = take(shape.weights());
  wide = take(rows * 4 * shape.width);
  active = take(rows * 4 * shape.width);
}

BlockScratch::BlockScratch(Ledger& ledger, const AttentionShape& shape, std::size_t sequences) {
  const std::size_t rows = shape.blocks * shape.length;
  narrow = {ledger, Use::activations, rows * shape.width};
  wide = {ledger, Use::activations, rows * 4 * shape.width};
  packed = {ledger, Use::activations, rows * 3 * shape.width};
  weights = {ledger, Use::activations, sequences * shape.length * shape.length};
}

void Block::forward(const BlockView<const float>& p, In input, BlockKept& kept, Out output) const {
  const auto middle = kept.middle.span();
  math_.layer_norm(input, p.gain1, p.bias1, kept.normal1, {kept.mean1, kept.inverse1});
  math_.settle(kept.normal1);
  math_.linear(kept.normal1, p.packing_weight, p.packing_bias, kept.packed);
  math_.settle(kept.packed);
  math_.attention(shape_, kept.packed, kept.weights, kept.mixed);
  math_.settle(kept.mixed);
  math_.linear(kept.mixed, p.projection_weight, p.projection_bias, middle);
  math_.add(input, middle, middle);
  math_.settle(middle);
  math_.layer_norm(middle, p.gain2, p.bias2, kept.normal2, {kept.mean2, kept.inverse2});
  math_.settle(kept.normal2);
  math_.linear(kept.normal2, p.widening_weight, p.widening_bias, kept.wide);
  math_.settle(kept.wide);
  math_.gelu(kept.wide, kept.active);
  math_.settle(kept.active);
  math_.linear(kept.active, p.narrowing_weight, p.narrowing_bias, output);
  math_.add(middle, output, output);
  math_.settle(output);
}

void Block::backward(const BlockView<const float>& p, const BlockView<float>& g, In input,
                     BlockKept& kept, BlockScratch& scratch, Out gradient) const {
  const auto narrow = scratch.narrow.span();
  const auto wide = scratch.wide.span();
  math_.linear_backward(gradient, kept.active, p.narrowing_weight,
                        {wide, g.narrowing_weight, g.narrowing_bias});
  math_.gelu_backward(wide, kept.wide, wide);
  math_.settle(wide);
  math_.linear_backward(wide, kept.normal2, p.widening_weight,
                        {narrow, g.widening_weight, g.widening_bias});
  math_.settle(narrow);
  math_.layer_norm_backward(narrow, kept.middle, p.gain2, {kept.mean2, kept.inverse2},
                            {gradient, g.gain2, g.bias2});
  math_.settle(gradient);
  attention_backward(p, g, input, kept, scratch, gradient);
}

void Block::attention_backward(const BlockView<const float>& p, const BlockView<float>& g, In input,
                               BlockKept& kept, BlockScratch& scratch, Out gradient) const {
  const auto narrow = scratch.narrow.span();
  const auto packed = scratch.packed.span();
  math_.linear_backward(gradient, kept.mixed, p.projection_weight,
                        {narrow, g.projection_weight, g.projection_bias});
  math_.settle(narrow);
  math_.attention_backward(shape_, narrow, kept.packed, kept.weights, scratch.weights, packed);
  math_.settle(packed);
  math_.linear_backward(packed, kept.normal1, p.packing_weight,
                        {narrow, g.packing_weight, g.packing_bias});
  math_.settle(narrow);
  math_.layer_norm_backward(narrow, input, p.gain1, {kept.mean1, kept.inverse1},
                            {gradient, g.gain1, g.bias1});
  math_.settle(gradient);
}

}  // namespace rondo::train
