// The operations on arrays that models and optimizers are made of, each with its backward pass
// written by hand. The same source runs on the CPU, where one thread goes through everything, and
// on a GPU (device/kernels.cu). Backward operations *add* to gradients of parameters.
//
// No thread waits for a thread of another row or element, and none writes what another one reads.
// So the number of threads is free, and every sum is taken in the same order. A Lanes has:
//
//   thread(), threads()   this thread's number, from 0, and how many share the elements
//   group(), groups()     this thread's group, and how many groups share the rows
//   lane(), lanes()       this thread's number in its group, and how many share a row
//   sum(x), largest(x)    over the lanes of a group; all lanes call it and all get the result
//   all_done()            afterwards each lane sees what the group's others wrote
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tools/trainer/math/call.h"

// One source is device code under nvcc and ordinary C++ elsewhere.
#ifdef __CUDACC__
#define RONDO_TRAIN_BOTH __host__ __device__
#else
#define RONDO_TRAIN_BOTH
#endif

namespace rondo::train {

/// The kernel's name in the image for devices, the threads of a block, and those that share a row.
inline constexpr const char* kernel_name = "rondo_train";
inline constexpr unsigned block_threads = 256;
inline constexpr unsigned warp_lanes = 32;

/// exp() in a form that compilers turn into vector code. The relative error is at most 2e-7. Computes
/// 2^(x log2 e): the whole part becomes the exponent, the rest goes through a polynomial. Below -87
/// and above 88 the value is that of the limit. NaN stays NaN.
RONDO_TRAIN_BOTH inline float exponential(float x) {
  const float bounded = x < -87.0F ? -87.0F : (x > 88.0F ? 88.0F : x);
  constexpr float shift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float whole = (bounded * 1.44269504F + shift) - shift;
  // x - whole * ln 2 in two parts, exact to float32
  const float rest = (bounded - whole * 0.693359375F) - whole * -2.12194440e-4F;
  float sum = 1.9875691500e-4F;
  sum = sum * rest + 1.3981999507e-3F;
  sum = sum * rest + 8.3334519073e-3F;
  sum = sum * rest + 4.1665795894e-2F;
  sum = sum * rest + 1.6666665459e-1F;
  sum = sum * rest + 5.0000001201e-1F;
  sum = sum * rest * rest + rest + 1.0F;
  const float sane = whole == whole ? whole : 0.0F;  // a NaN has no whole part; the sum carries it
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(sane) + 127) << 23;
  return sum * std::bit_cast<float>(exponent);
}

RONDO_TRAIN_BOTH inline float hyperbolic_tangent(float x) {
  return 1 - 2 / (exponential(2 * x) + 1);
}

/// A buffer of a call.
template <class T>
struct Elements {
  T* at;
  std::size_t count;
  RONDO_TRAIN_BOTH T& operator[](std::size_t i) const { return at[i]; }
};

/// One thread's part of a call. An operation's arguments are the call's buffers, in their order.
template <class Lanes>
struct Kernels {
  using In = Elements<const float>;
  using Out = Elements<float>;
  using Integers = Elements<const std::int32_t>;

  const Call& call;
  const Lanes& lanes;

  template <auto kernel, class... T, std::size_t... I>
  RONDO_TRAIN_BOTH void pass(std::index_sequence<I...>) const {
    (this->*kernel)(Elements<T>{reinterpret_cast<T*>(call.buffers[I].at),
                                static_cast<std::size_t>(call.buffers[I].bytes / sizeof(T))}...);
  }
  /// Carries out an operation, which it is given twice: the second time for its arguments' types.
  template <auto kernel, class... T>
  RONDO_TRAIN_BOTH void run(void (Kernels::*)(Elements<T>...) const) const {
    pass<kernel, T...>(std::index_sequence_for<T...>());
  }

  /// body(i) for this thread's share of `count` elements.
  template <class Body>
  RONDO_TRAIN_BOTH void each_element(std::size_t count, Body body) const {
    for (std::size_t i = lanes.thread(); i < count; i += lanes.threads()) body(i);
  }
  /// body(row) for this group's share of `count` rows, by all of its lanes.
  template <class Body>
  RONDO_TRAIN_BOTH void each_row(std::size_t count, Body body) const {
    for (std::size_t row = lanes.group(); row < count; row += lanes.groups()) body(row);
  }
  /// body(i) for this lane's share of the places of a row from `begin` to `end`.
  template <class Body>
  RONDO_TRAIN_BOTH void each_lane(std::size_t begin, std::size_t end, Body body) const {
    for (std::size_t i = begin + lanes.lane(); i < end; i += lanes.lanes()) body(i);
  }
  /// sums[column] += term(row, column), row by row. A thread that has all columns goes through them
  /// as the memory lies.
  template <class Term>
  RONDO_TRAIN_BOTH void add_to_columns(std::size_t rows, Out sums, Term term) const {
    if (lanes.threads() == 1) {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < sums.count; ++column)
          sums[column] += term(row, column);
      }
      return;
    }
    each_element(sums.count, [&](std::size_t column) {
      float sum = sums[column];
      for (std::size_t row = 0; row < rows; ++row) sum += term(row, column);
      sums[column] = sum;
    });
  }

  /// Every row of `output` becomes `row`.
  RONDO_TRAIN_BOTH void repeat(In row, Out output) const {
    each_row(output.count / row.count, [&](std::size_t number) {
      float* const into = output.at + number * row.count;
      each_lane(0, row.count, [&](std::size_t i) { into[i] = row[i]; });
    });
  }

  /// sum += every row of `input`.
  RONDO_TRAIN_BOTH void add_rows(In input, Out sum) const {
    add_to_columns(input.count / sum.count, sum, [&](std::size_t row, std::size_t column) {
      return input[row * sum.count + column];
    });
  }

  static constexpr float root_two_over_pi = 0.7978845608028654F;
  static constexpr float gelu_cubic = 0.044715F;
  RONDO_TRAIN_BOTH static float gelu_tangent(float x) {
    return hyperbolic_tangent(root_two_over_pi * (x + gelu_cubic * x * x * x));
  }
  /// x Phi(x) in its tanh form.
  RONDO_TRAIN_BOTH void gelu(In input, Out output) const {
    each_element(output.count,
                 [&](std::size_t i) { output[i] = input[i] / 2 * (1 + gelu_tangent(input[i])); });
  }
  /// In place or not.
  RONDO_TRAIN_BOTH void gelu_backward(In outer, In input, Out input_gradient) const {
    each_element(input_gradient.count, [&](std::size_t i) {
      const float x = input[i];
      const float tangent = gelu_tangent(x);
      const float slope = root_two_over_pi * (1 + 3 * gelu_cubic * x * x);
      input_gradient[i] = outer[i] * ((1 + tangent) / 2 + x / 2 * (1 - tangent * tangent) * slope);
    });
  }

  /// The output may be a or b itself.
  RONDO_TRAIN_BOTH void add(In a, In b, Out output) const {
    each_element(output.count, [&](std::size_t i) { output[i] = a[i] + b[i]; });
  }

  /// output = gain * (input - mean) / deviation + bias, row by row; keeps the mean and 1 / deviation
  /// of each row.
  RONDO_TRAIN_BOTH void layer_norm(In input, In gain, In bias, Out output, Out means,
                                   Out inverses) const {
    constexpr float epsilon = 1e-5F;  // as PyTorch's LayerNorm
    const std::size_t width = gain.count;
    each_row(means.count, [&](std::size_t row) {
      const float* const from = input.at + row * width;
      float* const into = output.at + row * width;
      float sum = 0;
      each_lane(0, width, [&](std::size_t i) { sum += from[i]; });
      const float mean = lanes.sum(sum) / static_cast<float>(width);
      float squares = 0;
      each_lane(0, width, [&](std::size_t i) { squares += (from[i] - mean) * (from[i] - mean); });
      const float inverse = 1 / std::sqrt(lanes.sum(squares) / static_cast<float>(width) + epsilon);
      each_lane(0, width,
                [&](std::size_t i) { into[i] = (from[i] - mean) * inverse * gain[i] + bias[i]; });
      if (lanes.lane() != 0) return;
      means[row] = mean;
      inverses[row] = inverse;
    });
  }
  /// Its backward pass for the input. With x the normalised input and g the gradient of it:
  /// input_sum += (g - mean(g) - x mean(g x)) / deviation.
  RONDO_TRAIN_BOTH void layer_norm_rows(In outers, In inputs, In gain, In means, In inverses,
                                        Out input_sum) const {
    const std::size_t width = gain.count;
    each_row(means.count, [&](std::size_t row) {
      const float* const outer = outers.at + row * width;
      const float* const input = inputs.at + row * width;
      float* const into = input_sum.at + row * width;
      const float mean = means[row];
      const float inverse = inverses[row];
      float sum = 0;
      float product = 0;
      each_lane(0, width, [&](std::size_t i) {
        sum += outer[i] * gain[i];
        product += outer[i] * gain[i] * ((input[i] - mean) * inverse);
      });
      sum = lanes.sum(sum) / static_cast<float>(width);
      product = lanes.sum(product) / static_cast<float>(width);
      each_lane(0, width, [&](std::size_t i) {
        const float normal = (input[i] - mean) * inverse;
        into[i] += (outer[i] * gain[i] - sum - normal * product) * inverse;
      });
    });
  }
  /// And for its gain.
  RONDO_TRAIN_BOTH void layer_norm_columns(In outer, In input, In means, In inverses,
                                           Out gain_gradient) const {
    const std::size_t width = gain_gradient.count;
    add_to_columns(means.count, gain_gradient, [&](std::size_t row, std::size_t column) {
      const std::size_t i = row * width + column;
      return outer[i] * ((input[i] - means[row]) * inverses[row]);
    });
  }

  /// Output row i = token_table[tokens[i]] + position_table[i mod columns]. Sizes: columns, width.
  RONDO_TRAIN_BOTH void embed(Integers tokens, In token_table, In position_table,
                              Out output) const {
    const std::size_t width = call.sizes[1];
    each_row(tokens.count, [&](std::size_t row) {
      const float* const token = token_table.at + static_cast<std::size_t>(tokens[row]) * width;
      const float* const position = position_table.at + row % call.sizes[0] * width;
      float* const into = output.at + row * width;
      each_lane(0, width, [&](std::size_t i) { into[i] = token[i] + position[i]; });
    });
  }
  /// Its backward pass for the table of tokens. Sizes: -, width. A token's places in the batch are added
  /// up in their order.
  RONDO_TRAIN_BOTH void embed_tokens(In outers, Integers tokens, Out token_gradient) const {
    const std::size_t width = call.sizes[1];
    each_row(token_gradient.count / width, [&](std::size_t token) {
      float* const sum = token_gradient.at + token * width;
      for (std::size_t place = 0; place < tokens.count; ++place) {
        if (static_cast<std::size_t>(tokens[place]) != token) continue;
        const float* const outer = outers.at + place * width;
        each_lane(0, width, [&](std::size_t i) { sum[i] += outer[i]; });
      }
    });
  }

  RONDO_TRAIN_BOTH float largest_of(const float* row, std::size_t count) const {
    float largest = row[0];
    each_lane(0, count, [&](std::size_t i) {
      if (largest < row[i]) largest = row[i];
    });
    return lanes.largest(largest);
  }
  /// row[i] = exp(row[i] - largest); returns the sum of them.
  RONDO_TRAIN_BOTH float exponentials(float* row, std::size_t count) const {
    const float largest = largest_of(row, count);
    float sum = 0;
    each_lane(0, count, [&](std::size_t i) {
      const float value = exponential(row[i] - largest);
      row[i] = value;
      sum += value;
    });
    return lanes.sum(sum);
  }

  /// In place, on `count` square matrices. Each row counts up to its own position; later ones are the
  /// future and get the weight 0. Sizes: length, count, step.
  RONDO_TRAIN_BOTH void causal_softmax(Out scores) const {
    const std::size_t length = call.sizes[0];
    each_row(length * call.sizes[1], [&](std::size_t number) {
      const std::size_t own = number % length;
      float* const row = scores.at + number / length * call.sizes[2] + own * length;
      const float sum = exponentials(row, own + 1);
      each_lane(0, own + 1, [&](std::size_t i) { row[i] /= sum; });
      each_lane(own + 1, length, [&](std::size_t i) { row[i] = 0; });
    });
  }
  /// Turns gradients of the weights into gradients of the scores: w (g - sum(w g)). Sizes: length,
  /// count, step of the gradients, of the weights.
  RONDO_TRAIN_BOTH void softmax_backward(In weights, Out gradients) const {
    const std::size_t length = call.sizes[0];
    each_row(length * call.sizes[1], [&](std::size_t number) {
      const std::size_t own = number % length;
      const std::size_t matrix = number / length;
      const float* const weight = weights.at + matrix * call.sizes[3] + own * length;
      float* const gradient = gradients.at + matrix * call.sizes[2] + own * length;
      float sum = 0;
      each_lane(0, own + 1, [&](std::size_t i) { sum += weight[i] * gradient[i]; });
      sum = lanes.sum(sum);
      each_lane(0, own + 1, [&](std::size_t i) { gradient[i] = weight[i] * (gradient[i] - sum); });
      each_lane(own + 1, length, [&](std::size_t i) { gradient[i] = 0; });
    });
  }

  /// -log softmax(scores)[target] of each row, in double.
  RONDO_TRAIN_BOTH void cross_entropy(In scores, Integers targets, Elements<double> losses) const {
    const std::size_t classes = scores.count / targets.count;
    each_row(targets.count, [&](std::size_t row) {
      const float* const own = scores.at + row * classes;
      const float largest = largest_of(own, classes);
      double sum = 0;
      each_lane(0, classes,
                [&](std::size_t i) { sum += static_cast<double>(exponential(own[i] - largest)); });
      const double loss =
          std::log(lanes.sum(sum)) - static_cast<double>(own[targets[row]] - largest);
      if (lanes.lane() == 0) losses[row] = loss;
    });
  }
  /// In place: scores become scale * (softmax(scores) - one at the target). Numbers: scale.
  RONDO_TRAIN_BOTH void cross_entropy_backward(Out scores, Integers targets) const {
    const std::size_t classes = scores.count / targets.count;
    const float scale = call.numbers[0];
    each_row(targets.count, [&](std::size_t row) {
      float* const own = scores.at + row * classes;
      const float factor = scale / exponentials(own, classes);
      each_lane(0, classes, [&](std::size_t i) { own[i] *= factor; });
      lanes.all_done();
      if (lanes.lane() == 0) own[targets[row]] -= scale;
    });
  }

  /// With n sums, sum i is that of the squares of the values i, i + n, ...
  RONDO_TRAIN_BOTH void squares(In values, Elements<double> sums) const {
    each_element(sums.count, [&](std::size_t own) {
      double sum = 0;
      for (std::size_t i = own; i < values.count; i += sums.count) {
        const auto value = static_cast<double>(values[i]);
        sum += value * value;
      }
      sums[own] = sum;
    });
  }

  /// As PyTorch's SGD. The velocity is used only if momentum is above 0. Numbers: rate, scale, decay,
  /// momentum.
  RONDO_TRAIN_BOTH void sgd(Out parameters, In gradients, Out velocity) const {
    const float rate = call.numbers[0], scale = call.numbers[1];
    const float decay = call.numbers[2], momentum = call.numbers[3];
    each_element(parameters.count, [&](std::size_t i) {
      float change = gradients[i] * scale + decay * parameters[i];
      if (momentum > 0) change = velocity[i] = momentum * velocity[i] + change;
      parameters[i] -= rate * change;
    });
  }
  /// As PyTorch's AdamW. Numbers: rate, root, keep, scale, beta1, beta2, epsilon.
  RONDO_TRAIN_BOTH void adamw(Out parameters, In gradients, Out means, Out squares) const {
    const float rate = call.numbers[0], root = call.numbers[1], keep = call.numbers[2];
    const float scale = call.numbers[3], beta1 = call.numbers[4], beta2 = call.numbers[5];
    const float epsilon = call.numbers[6];
    each_element(parameters.count, [&](std::size_t i) {
      const float gradient = gradients[i] * scale;
      const float mean = beta1 * means[i] + (1 - beta1) * gradient;
      const float square = beta2 * squares[i] + (1 - beta2) * gradient * gradient;
      means[i] = mean;
      squares[i] = square;
      parameters[i] = parameters[i] * keep - rate * mean / (std::sqrt(square) * root + epsilon);
    });
  }
};

/// A single thread, which has everything to itself.
struct OneLane {
  RONDO_TRAIN_BOTH static constexpr std::size_t lane() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t lanes() { return 1; }
  RONDO_TRAIN_BOTH static constexpr std::size_t thread() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t threads() { return 1; }
  RONDO_TRAIN_BOTH static constexpr std::size_t group() { return 0; }
  RONDO_TRAIN_BOTH static constexpr std::size_t groups() { return 1; }
  template <class T>
  RONDO_TRAIN_BOTH static T sum(T own) {
    return own;
  }
  template <class T>
  RONDO_TRAIN_BOTH static T largest(T own) {
    return own;
  }
  RONDO_TRAIN_BOTH static void all_done() {}
};

/// Does this thread's part of a call.
template <class Lanes>
RONDO_TRAIN_BOTH inline void run(const Call& call, const Lanes& lanes) {
  const Kernels<Lanes> kernels{call, lanes};
#define RONDO_TRAIN_RUN(name) \
  case Kernel::name:          \
    return kernels.template run<&Kernels<Lanes>::name>(&Kernels<Lanes>::name);
  switch (call.kernel) { RONDO_TRAIN_KERNELS(RONDO_TRAIN_RUN) }
#undef RONDO_TRAIN_RUN
}

}  // namespace rondo::train
