#include "tools/trainer/device/math.h"

#include <numeric>
#include <vector>

#include "tools/trainer/device/cublas.h"

namespace rondo::train::device {
namespace {

/// A device's array that grows as larger ones are asked for.
template <class T>
class Scratch {
 public:
  explicit Scratch(const Device& device) : device_(device) {}
  std::span<T> of(std::size_t count) {
    if (count > size_) {
      memory_.reset();  // before the larger one is taken
      memory_ = device_.take(count * sizeof(T));
      size_ = count;
    }
    return {static_cast<T*>(memory_.get()), count};
  }
  /// Written when it returns.
  std::span<const T> filled(std::span<const T> values) {
    const auto into = of(values.size());
    device_.write(values.data(), into.data(), values.size_bytes());
    return into;
  }

 private:
  const Device& device_;
  std::size_t size_ = 0;
  std::shared_ptr<void> memory_{};
};

/// The places of each token in the batch, as the kernel EmbedTokens wants them. `kinds`: how many
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

class DeviceMath final : public Math<float> {
 public:
  DeviceMath(const Device& device, const Libraries& libraries)
      : device_(device), cublas_(libraries, device.compute()), integers_(device), losses_(device) {}

  /// All sequences at once: a call for each would cost more than its work.
  std::size_t sequences_at_once(std::size_t blocks) const override { return blocks; }
  void multiply(const Product<float>& product) const override { cublas_.multiply(product); }
  void repeat(In<float> row, Out<float> output) const override {
    elements(Kernel::repeat, output.size(), {buffer_of(row), buffer_of(output)});
  }
  void add_rows(In<float> input, Out<float> sum) const override {
    elements(Kernel::add_rows, sum.size(), {buffer_of(input), buffer_of(sum)});
  }
  void gelu(In<float> input, Out<float> output) const override {
    elements(Kernel::gelu, output.size(), {buffer_of(input), buffer_of(output)});
  }
  void gelu_backward(In<float> output_gradient, In<float> input,
                     Out<float> input_gradient) const override {
    elements(Kernel::gelu_backward, input_gradient.size(),
             {buffer_of(output_gradient), buffer_of(input), buffer_of(input_gradient)});
  }
  void add(In<float> a, In<float> b, Out<float> output) const override {
    elements(Kernel::add, output.size(), {buffer_of(a), buffer_of(b), buffer_of(output)});
  }
  void layer_norm(In<float> input, In<float> gain, In<float> bias, Out<float> output,
                  const NormStatistics<float>& kept) const override {
    rows(Kernel::layer_norm, kept.mean.size(),
         {buffer_of(input), buffer_of(gain), buffer_of(bias), buffer_of(output),
          buffer_of(kept.mean), buffer_of(kept.inverse_deviation)});
  }
  void layer_norm_backward(In<float> output_gradient, In<float> input, In<float> gain,
                           const NormStatistics<float>& kept,
                           const NormGradients<float>& gradients) const override {
    rows(Kernel::layer_norm_rows, kept.mean.size(),
         {buffer_of(output_gradient), buffer_of(input), buffer_of(gain), buffer_of(kept.mean),
          buffer_of(kept.inverse_deviation), buffer_of(gradients.input_sum)});
    elements(
        Kernel::layer_norm_columns, gain.size(),
        {buffer_of(output_gradient), buffer_of(input), buffer_of(kept.mean),
         buffer_of(kept.inverse_deviation), buffer_of(gradients.gain), buffer_of(gradients.bias)});
  }
  void embed(std::span<const std::int32_t> tokens, std::size_t columns, In<float> token_table,
             In<float> position_table, Out<float> output) const override {
    elements(Kernel::embed, output.size(),
             {buffer_of(integers_.filled(tokens)), buffer_of(token_table),
              buffer_of(position_table), buffer_of(output)},
             {columns, output.size() / tokens.size()});
  }
  void embed_backward(In<float> output_gradient, std::span<const std::int32_t> tokens,
                      std::size_t columns, Out<float> token_gradient,
                      Out<float> position_gradient) const override {
    const std::size_t width = output_gradient.size() / tokens.size();
    elements(Kernel::embed_tokens, token_gradient.size(),
             {buffer_of(output_gradient),
              buffer_of(integers_.filled(places_by_token(tokens, token_gradient.size() / width))),
              buffer_of(token_gradient)},
             {columns, width});
    elements(Kernel::embed_positions, columns * width,
             {buffer_of(output_gradient), buffer_of(position_gradient)}, {columns, width});
  }
  void causal_softmax(Out<float> scores, const train::Squares& squares) const override {
    rows(Kernel::causal_softmax, squares.length * squares.count, {buffer_of(scores)},
         {squares.length, squares.count, squares.step});
  }
  void softmax_backward(In<float> weights, std::size_t weights_step, Out<float> gradients,
                        const train::Squares& squares) const override {
    rows(Kernel::softmax_backward, squares.length * squares.count,
         {buffer_of(weights), buffer_of(gradients)},
         {squares.length, squares.count, squares.step, weights_step});
  }
  /// Waits for the device. The loss is the only result that the host reads in a pass.
  double cross_entropy(In<float> scores, std::span<const std::int32_t> targets) const override {
    if (targets.empty()) return 0;
    const auto losses = losses_.of(targets.size());
    rows(Kernel::cross_entropy, targets.size(),
         {buffer_of(scores), buffer_of(integers_.filled(targets)), buffer_of(losses)});
    std::vector<double> each(targets.size());
    device_.read(losses.data(), each.data(), losses.size_bytes());
    double sum = 0;
    for (const double loss : each) sum += loss;
    return sum;
  }
  void cross_entropy_backward(Out<float> scores, std::span<const std::int32_t> targets,
                              float scale) const override {
    if (targets.empty()) return;
    device_.launch(Kernel::cross_entropy_backward, {targets.size(), warp_lanes},
                   make_call({buffer_of(scores), buffer_of(integers_.filled(targets))}, {},
                             std::array{scale}));
  }

  /// Strategies have refused other types on devices before.
  void round_to(Out<float>, Precision precision) const override {
    if (precision == Precision::float32) return;
    throw Error(ErrorCode::invalid_argument, "a device computes float32",
                {.remedy = "--precision float32, or --device cpu"});
  }
  void zero(Out<float> values) const override { device_.zero(values.data(), values.size_bytes()); }
  void load(std::span<const float> features, Out<float> into) const override {
    device_.write(features.data(), into.data(), features.size_bytes());
  }

 private:
  void elements(Kernel kernel, std::size_t items, std::initializer_list<Buffer> buffers,
                std::initializer_list<std::uint64_t> sizes = {}) const {
    device_.launch(kernel, {items}, make_call(buffers, sizes));
  }
  void rows(Kernel kernel, std::size_t items, std::initializer_list<Buffer> buffers,
            std::initializer_list<std::uint64_t> sizes = {}) const {
    device_.launch(kernel, {items, warp_lanes}, make_call(buffers, sizes));
  }

  const Device& device_;
  Cublas cublas_;
  mutable Scratch<std::int32_t> integers_;  ///< tokens or targets, as they come
  mutable Scratch<double> losses_;
};

}  // namespace

std::unique_ptr<Math<float>> make_math(const Device& device, const Libraries& libraries) {
  return std::make_unique<DeviceMath>(device, libraries);
}

}  // namespace rondo::train::device
