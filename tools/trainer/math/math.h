// The operations of a model on arrays in a machine's memory. kernels.h says what they compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/trainer/machine/machine.h"
#include "tools/trainer/math/narrow.h"

namespace rondo::train {

using In = std::span<const float>;
using Out = std::span<float>;

/// The parameters of a layer, or their gradients. T is const float or float. A linear layer may have
/// no bias.
template <class T>
struct Linear {
  std::span<T> weight, bias;
};
template <class T>
struct Norm {
  std::span<T> gain, bias;
};
/// What layer_norm keeps for backward, one for each row.
struct NormStatistics {
  Out mean, inverse_deviation;
};

/// `blocks` sequences of `length` positions; `heads` parts of a row of `width`.
struct AttentionShape {
  std::size_t blocks, length, heads, width;
  std::size_t rows() const { return blocks * length; }
  std::size_t head_width() const { return width / heads; }
  /// Elements of the weights: blocks x heads x length x length.
  std::size_t weights() const { return blocks * heads * length * length; }
};

/// Matrices are row-major. Spans lie in the machine's memory; only tokens and targets lie in the
/// host's and may go when the call returns. An operation may still be under way when its call
/// returns; the next one sees its results. Backward functions *add* to gradients of parameters.
/// They write gradients of activations, or add to them if the argument's name says `sum`. Every result
/// is rounded to `precision`, but for gradients of parameters.
class Math {
 public:
  /// `machine` outlives it. Other types than float32 only on the host.
  explicit Math(const Machine& machine, Precision precision = Precision::float32)
      : machine_(machine), precision_(precision) {}

  /// output (rows x outputs) = input (rows x inputs) * weight^T (outputs x inputs) + bias.
  void linear(std::size_t rows, In input, const Linear<const float>& layer, Out output) const;
  void linear_backward(std::size_t rows, In output_gradient, In input, In weight,
                       Out input_gradient, const Linear<float>& gradients) const;
  void gelu(In input, Out output) const { elements(output, Kernel::gelu, input, output); }
  void gelu_backward(In output_gradient, In input, Out input_gradient) const {
    elements(input_gradient, Kernel::gelu_backward, output_gradient, input, input_gradient);
  }
  void add(In a, In b, Out output) const { elements(output, Kernel::add, a, b, output); }
  void layer_norm(In input, const Norm<const float>& norm, Out output,
                  const NormStatistics& kept) const;
  void layer_norm_backward(In output_gradient, In input, In gain, const NormStatistics& kept,
                           Out input_sum, const Norm<float>& gradients) const;
  void embed(std::span<const std::int32_t> tokens, std::size_t columns, In token_table,
             In position_table, Out output) const;
  void embed_backward(In output_gradient, std::span<const std::int32_t> tokens, std::size_t columns,
                      Out token_gradient, Out position_gradient) const;

  /// packed: rows of query, key and value, one after the other (3 x width). weights: softmax of the
  /// scaled scores, zero above the diagonal, kept for backward. output: rows of `width`.
  void attention(const AttentionShape& shape, In packed, Out weights, Out output) const;
  /// scratch: length x length for each of the sequences that are taken at once.
  void attention_backward(const AttentionShape& shape, In output_gradient, In packed, In weights,
                          Out scratch, Out packed_gradient) const;
  std::size_t sequences_at_once(std::size_t blocks) const {
    return machine_.is_device() ? blocks : 1;
  }

  /// Sum over rows of -log softmax(scores)[target]. Waits for it. `losses`: one for each target.
  double cross_entropy(In scores, std::span<const std::int32_t> targets,
                       std::span<double> losses) const;
  void cross_entropy_backward(Out scores, std::span<const std::int32_t> targets, float scale) const;
  void zero(Out values) const { machine_.zero(values.data(), values.size_bytes()); }

 private:
  using Sizes = std::initializer_list<std::uint64_t>;
  /// One of the kernels that take each element of `result` by itself, and round it.
  template <class... Spans>
  void elements(Out result, Kernel kernel, const Spans&... spans) const {
    machine_.launch(make_call(kernel, {buffer_of(spans)...}), result.size(), false);
    round_to(result, precision_);
  }
  /// Adds what the rows of an array have for each column.
  template <class... Spans>
  void columns(Out sums, Kernel kernel, const Spans&... spans) const {
    machine_.launch(make_call(kernel, {buffer_of(spans)..., buffer_of(sums)}), sums.size(), false);
  }
  template <class... Spans>
  void rows(std::size_t items, Kernel kernel, Sizes sizes, const Spans&... spans) const {
    machine_.launch(make_call(kernel, {buffer_of(spans)...}, sizes), items, true);
  }

  const Machine& machine_;
  Precision precision_;
};

}  // namespace rondo::train
