#include "tools/trainer/math/math.h"

#include <numeric>
#include <vector>

namespace rondo::train {
namespace {

/// The places of each token in the batch, as the kernel embed_tokens wants them. `kinds`: how many
/// different tokens there are.
std::vector<std::int32_t> places_by_token(std::span<const std::int32_t> tokens, std::size_t kinds) {
  std::vector<std::int32_t> all(kinds + 1 + tokens.size());
  const std::span begins = std::span(all).first(kinds + 1);
  for (const std::int32_t token : tokens) ++begins[static_cast<std::size_t>(token) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::int32_t> next(begins.begin(), begins.end() - 1);
  for (std::size_t place = 0; place < tokens.size(); ++place) {
    const auto token = static_cast<std::size_t>(tokens[place]);
    all[kinds + 1 + static_cast<std::size_t>(next[token]++)] = static_cast<std::int32_t>(place);
  }
  return all;
}

}  // namespace

void Math::linear(In input, In weight, In bias, Out output) const {
  const std::size_t outputs = bias.size();
  const std::size_t inputs = weight.size() / outputs;
  const std::size_t count = output.size() / outputs;
  rows(count, Kernel::repeat, {}, bias, output);
  const Matrix<const float> weights{weight.data(), outputs, inputs};
  multiply({.a = {input.data(), count, inputs},
            .b = weights.flipped(),
            .c = {output.data(), count, outputs},
            .keep = 1});
}

void Math::linear_backward(In output_gradient, In input, In weight,
                           const LinearGradients& gradients) const {
  const std::size_t outputs = gradients.bias.size();
  const std::size_t inputs = weight.size() / outputs;
  const std::size_t count = output_gradient.size() / outputs;
  const Matrix<const float> outer{output_gradient.data(), count, outputs};
  multiply({.a = outer,
            .b = {weight.data(), outputs, inputs},
            .c = {gradients.input.data(), count, inputs}});
  multiply({.a = outer.flipped(),
            .b = {input.data(), count, inputs},
            .c = {gradients.weight.data(), outputs, inputs},
            .keep = 1});
  elements(outputs, Kernel::add_rows, {}, output_gradient, gradients.bias);
}

void Math::layer_norm(In input, In gain, In bias, Out output, const NormStatistics& kept) const {
  rows(kept.mean.size(), Kernel::layer_norm, {}, input, gain, bias, output, kept.mean,
       kept.inverse_deviation);
}

void Math::layer_norm_backward(In output_gradient, In input, In gain, const NormStatistics& kept,
                               const NormGradients& gradients) const {
  rows(kept.mean.size(), Kernel::layer_norm_rows, {}, output_gradient, input, gain, kept.mean,
       kept.inverse_deviation, gradients.input_sum);
  elements(gain.size(), Kernel::layer_norm_columns, {}, output_gradient, input, kept.mean,
           kept.inverse_deviation, gradients.gain);
  elements(gain.size(), Kernel::add_rows, {}, output_gradient, gradients.bias);
}

void Math::embed(std::span<const std::int32_t> tokens, std::size_t columns, In token_table,
                 In position_table, Out output) const {
  rows(tokens.size(), Kernel::embed, {columns, output.size() / tokens.size()},
       machine_.upload(tokens), token_table, position_table, output);
}

void Math::embed_backward(In output_gradient, std::span<const std::int32_t> tokens,
                          std::size_t columns, Out token_gradient, Out position_gradient) const {
  const std::size_t width = output_gradient.size() / tokens.size();
  const std::size_t kinds = token_gradient.size() / width;
  const auto places = places_by_token(tokens, kinds);
  rows(kinds, Kernel::embed_tokens, {columns, width}, output_gradient, machine_.upload(places),
       token_gradient);
  elements(columns * width, Kernel::add_rows, {}, output_gradient,
           position_gradient.first(columns * width));
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
}

}  // namespace rondo::train
