// The operations on this processor.
#include <algorithm>

#include "tools/trainer/math/math.h"

namespace rondo::train {
namespace {

template <class Real>
class HostMath final : public Math<Real> {
 public:
  /// One sequence at a time: a head's matrices then stay in the cache from its scores to its
  /// output.
  std::size_t sequences_at_once(std::size_t) const override { return 1; }
  void multiply(const Product<Real>& product) const override { train::multiply(product); }
  void repeat(In<Real> row, Out<Real> output) const override {
    for (std::size_t at = 0; at < output.size(); at += row.size()) {
      std::copy(row.begin(), row.end(), output.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void add_rows(In<Real> input, Out<Real> sum) const override {
    for (std::size_t at = 0; at < input.size(); at += sum.size()) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[at + i];
    }
  }
  void gelu(In<Real> input, Out<Real> output) const override { train::gelu<Real>(input, output); }
  void gelu_backward(In<Real> output_gradient, In<Real> input,
                     Out<Real> input_gradient) const override {
    train::gelu_backward<Real>(output_gradient, input, input_gradient);
  }
  void add(In<Real> a, In<Real> b, Out<Real> output) const override {
    train::add<Real>(a, b, output);
  }
  void layer_norm(In<Real> input, In<Real> gain, In<Real> bias, Out<Real> output,
                  const NormStatistics<Real>& kept) const override {
    train::layer_norm<Real>(input, gain, bias, output, kept);
  }
  void layer_norm_backward(In<Real> output_gradient, In<Real> input, In<Real> gain,
                           const NormStatistics<Real>& kept,
                           const NormGradients<Real>& gradients) const override {
    train::layer_norm_backward<Real>(output_gradient, input, gain, kept, gradients);
  }
  void embed(std::span<const std::int32_t> tokens, std::size_t columns, In<Real> token_table,
             In<Real> position_table, Out<Real> output) const override {
    train::embed<Real>(tokens, columns, token_table, position_table, output);
  }
  void embed_backward(In<Real> output_gradient, std::span<const std::int32_t> tokens,
                      std::size_t columns, Out<Real> token_gradient,
                      Out<Real> position_gradient) const override {
    train::embed_backward<Real>(output_gradient, tokens, columns, token_gradient,
                                position_gradient);
  }
  void causal_softmax(Out<Real> scores, const Squares& squares) const override {
    for (std::size_t i = 0; i < squares.count; ++i)
      train::causal_softmax<Real>(scores.subspan(i * squares.step), squares.length);
  }
  void softmax_backward(In<Real> weights, std::size_t weights_step, Out<Real> gradients,
                        const Squares& squares) const override {
    for (std::size_t i = 0; i < squares.count; ++i) {
      train::softmax_backward<Real>(weights.subspan(i * weights_step),
                                    gradients.subspan(i * squares.step), squares.length);
    }
  }
  double cross_entropy(In<Real> scores, std::span<const std::int32_t> targets) const override {
    return train::cross_entropy<Real>(scores, targets);
  }
  void cross_entropy_backward(Out<Real> scores, std::span<const std::int32_t> targets,
                              Real scale) const override {
    train::cross_entropy_backward<Real>(scores, targets, scale);
  }
  void round_to(Out<Real> values, Precision precision) const override {
    if constexpr (std::is_same_v<Real, float>) train::round_to(values, precision);
  }
  void zero(Out<Real> values) const override { std::ranges::fill(values, Real{0}); }
  void load(std::span<const float> features, Out<Real> into) const override {
    std::ranges::copy(features, into.begin());
  }
};

}  // namespace

template <class Real>
const Math<Real>& host_math() {
  static const HostMath<Real> math;
  return math;
}

template const Math<float>& host_math();
template const Math<double>& host_math();

}  // namespace rondo::train
