#include "tools/trainer/math/math.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rondo::train {
namespace {

/// Where one head of several sequences lies in the larger matrices.
struct Head {
  const AttentionShape& shape;
  std::size_t block, head, count;  ///< the first sequence, the head, and how many sequences

  std::size_t length() const { return shape.length; }
  float scale() const { return 1 / std::sqrt(static_cast<float>(shape.head_width())); }
  /// Its columns in rows of all heads, which are `parts` times as wide: query, key and value.
  template <class T>
  Matrix<T> in_rows(std::span<T> all, std::size_t parts = 1, std::size_t part = 0) const {
    const std::size_t stride = parts * shape.width;
    const std::size_t begin =
        block * length() * stride + part * shape.width + head * shape.head_width();
    return {all.data() + begin, length(), shape.head_width(), stride, length() * stride};
  }
  /// Its weights, of all its sequences.
  template <class T>
  Matrix<T> weights(std::span<T> all) const {
    const std::size_t square = length() * length();
    return {all.data() + (block * shape.heads + head) * square, length(), length(), length(),
            shape.heads * square};
  }
};

/// From the first element to the last of `count` matrices.
template <class T>
std::span<T> extent(const Matrix<T>& first, std::size_t count) {
  return {first.values, (count - 1) * first.step + first.rows * first.stride};
}

/// One sequence after the other, so that a head's matrices stay in the cache, or all at once.
template <class Visit>
void each_head(std::size_t sequences, const AttentionShape& shape, Visit visit) {
  for (std::size_t block = 0; block < shape.blocks; block += sequences) {
    const std::size_t count = std::min(sequences, shape.blocks - block);
    for (std::size_t head = 0; head < shape.heads; ++head) visit(Head{shape, block, head, count});
  }
}

}  // namespace

void Math::linear(std::size_t count, In input, const Linear<const float>& layer, Out output) const {
  const std::size_t inputs = input.size() / count;
  const std::size_t outputs = output.size() / count;
  const Matrix<const float> weight{layer.weight.data(), outputs, inputs};
  if (!layer.bias.empty()) rows(count, Kernel::repeat, {}, layer.bias, output);
  machine_.multiply({.a = {input.data(), count, inputs},
                     .b = weight.flipped(),
                     .c = {output.data(), count, outputs},
                     .keep = layer.bias.empty() ? 0.0F : 1.0F});
  round_to(output, precision_);
}

void Math::linear_backward(std::size_t count, In output_gradient, In input, In weight,
                           Out input_gradient, const Linear<float>& gradients) const {
  const std::size_t inputs = input.size() / count;
  const std::size_t outputs = output_gradient.size() / count;
  const Matrix<const float> outer{output_gradient.data(), count, outputs};
  machine_.multiply({.a = outer,
                     .b = {weight.data(), outputs, inputs},
                     .c = {input_gradient.data(), count, inputs}});
  machine_.multiply({.a = outer.flipped(),
                     .b = {input.data(), count, inputs},
                     .c = {gradients.weight.data(), outputs, inputs},
                     .keep = 1});
  if (!gradients.bias.empty()) columns(gradients.bias, Kernel::add_rows, output_gradient);
  round_to(input_gradient, precision_);
}

void Math::layer_norm(In input, const Norm<const float>& norm, Out output,
                      const NormStatistics& kept) const {
  rows(kept.mean.size(), Kernel::layer_norm, {}, input, norm.gain, norm.bias, output, kept.mean,
       kept.inverse_deviation);
  round_to(output, precision_);
}

void Math::layer_norm_backward(In output_gradient, In input, In gain, const NormStatistics& kept,
                               Out input_sum, const Norm<float>& gradients) const {
  rows(kept.mean.size(), Kernel::layer_norm_rows, {}, output_gradient, input, gain, kept.mean,
       kept.inverse_deviation, input_sum);
  columns(gradients.gain, Kernel::layer_norm_columns, output_gradient, input, kept.mean,
          kept.inverse_deviation);
  columns(gradients.bias, Kernel::add_rows, output_gradient);
  round_to(input_sum, precision_);
}

void Math::embed(std::span<const std::int32_t> tokens, std::size_t columns, In token_table,
                 In position_table, Out output) const {
  rows(tokens.size(), Kernel::embed, {columns, output.size() / tokens.size()},
       machine_.upload(tokens), token_table, position_table, output);
  round_to(output, precision_);
}

void Math::embed_backward(In output_gradient, std::span<const std::int32_t> tokens,
                          std::size_t columns, Out token_gradient, Out position_gradient) const {
  const std::size_t width = output_gradient.size() / tokens.size();
  rows(token_gradient.size() / width, Kernel::embed_tokens, {columns, width}, output_gradient,
       machine_.upload(tokens), token_gradient);
  this->columns(position_gradient.first(columns * width), Kernel::add_rows, output_gradient);
}

void Math::attention(const AttentionShape& shape, In packed, Out weights, Out output) const {
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const auto own = head.weights(weights);
    machine_.multiply({.a = head.in_rows(packed, 3, 0),
                       .b = head.in_rows(packed, 3, 1).flipped(),
                       .c = own,
                       .scale = head.scale(),
                       .count = head.count});
    rows(shape.length * head.count, Kernel::causal_softmax, {shape.length, head.count, own.step},
         extent(own, head.count));
    machine_.multiply({.a = head.weights(In(weights)),
                       .b = head.in_rows(packed, 3, 2),
                       .c = head.in_rows(output),
                       .count = head.count});
  });
  round_to(output, precision_);
}

void Math::attention_backward(const AttentionShape& shape, In output_gradient, In packed,
                              In weights, Out scratch, Out packed_gradient) const {
  const std::size_t n = shape.length;
  const Matrix<float> into{scratch.data(), n, n, n, n * n};
  const Matrix<const float> inner{scratch.data(), n, n, n, n * n};
  each_head(sequences_at_once(shape.blocks), shape, [&](const Head& head) {
    const auto own = head.weights(weights);
    const auto outer = head.in_rows(output_gradient);
    const auto gradient = [&](std::size_t part) { return head.in_rows(packed_gradient, 3, part); };
    machine_.multiply(
        {.a = outer, .b = head.in_rows(packed, 3, 2).flipped(), .c = into, .count = head.count});
    machine_.multiply({.a = own.flipped(), .b = outer, .c = gradient(2), .count = head.count});
    rows(n * head.count, Kernel::softmax_backward, {n, head.count, n * n, own.step},
         extent(own, head.count), scratch);
    machine_.multiply({.a = inner,
                       .b = head.in_rows(packed, 3, 1),
                       .c = gradient(0),
                       .scale = head.scale(),
                       .count = head.count});
    machine_.multiply({.a = inner.flipped(),
                       .b = head.in_rows(packed, 3, 0),
                       .c = gradient(1),
                       .scale = head.scale(),
                       .count = head.count});
  });
  round_to(packed_gradient, precision_);
}

double Math::cross_entropy(In scores, std::span<const std::int32_t> targets,
                           std::span<double> losses) const {
  rows(targets.size(), Kernel::cross_entropy, {}, scores, machine_.upload(targets), losses);
  std::vector<double> each(targets.size());
  machine_.read(losses.data(), each.data(), losses.size_bytes());
  return std::accumulate(each.begin(), each.end(), 0.0);
}

void Math::cross_entropy_backward(Out scores, std::span<const std::int32_t> targets,
                                  float scale) const {
  Call call = make_call(Kernel::cross_entropy_backward,
                        {buffer_of(scores), buffer_of(machine_.upload(targets))});
  call.numbers[0] = scale;
  machine_.launch(call, targets.size(), true);
  round_to(scores, precision_);
}

}  // namespace rondo::train
