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

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tools/trainer/math/call.h"
#include "tools/trainer/math/exponential.h"

namespace rondo::train {

namespace kernels {

template <class T = float>
RONDO_TRAIN_BOTH inline T* at(const Call& call, std::size_t buffer) {
  return reinterpret_cast<T*>(call.buffers[buffer].at);
}
template <class T = float>
RONDO_TRAIN_BOTH inline std::size_t count(const Call& call, std::size_t buffer) {
  return call.buffers[buffer].bytes / sizeof(T);
}

/// body(i) for this thread's share of `count` elements.
template <class Lanes, class Body>
RONDO_TRAIN_BOTH inline void each_element(const Lanes& lanes, std::size_t count, Body body) {
  for (std::size_t i = lanes.thread(); i < count; i += lanes.threads()) body(i);
}
/// body(row) for this group's share of `count` rows, by all of its lanes.
template <class Lanes, class Body>
RONDO_TRAIN_BOTH inline void each_row(const Lanes& lanes, std::size_t count, Body body) {
  for (std::size_t row = lanes.group(); row < count; row += lanes.groups()) body(row);
}
/// body(i) for this lane's share of the places of a row from `begin` to `end`.
template <class Lanes, class Body>
RONDO_TRAIN_BOTH inline void each_lane(const Lanes& lanes, std::size_t begin, std::size_t end,
                                       Body body) {
  for (std::size_t i = begin + lanes.lane(); i < end; i += lanes.lanes()) body(i);
}
/// sums[column] += term(row, column), row by row. A thread that has all columns goes through them
/// as the memory lies.
template <class Lanes, class Term>
RONDO_TRAIN_BOTH inline void add_to_columns(const Lanes& lanes, std::size_t rows, std::size_t width,
                                            float* sums, Term term) {
  if (lanes.threads() == 1) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < width; ++column) sums[column] += term(row, column);
    }
    return;
  }
  each_element(lanes, width, [&](std::size_t column) {
    float sum = sums[column];
    for (std::size_t row = 0; row < rows; ++row) sum += term(row, column);
    sums[column] = sum;
  });
}

/// repeat(row, output): every row of output = row.
template <class Lanes>
RONDO_TRAIN_BOTH inline void repeat(const Call& call, const Lanes& lanes) {
  const std::size_t width = count(call, 0);
  const float* const from = at(call, 0);
  each_row(lanes, count(call, 1) / width, [&](std::size_t row) {
    float* const into = at(call, 1) + row * width;
    each_lane(lanes, 0, width, [&](std::size_t i) { into[i] = from[i]; });
  });
}

/// add_rows(input, sum): sum += every row of input.
template <class Lanes>
RONDO_TRAIN_BOTH inline void add_rows(const Call& call, const Lanes& lanes) {
  const float* const input = at(call, 0);
  const std::size_t width = count(call, 1);
  add_to_columns(lanes, count(call, 0) / width, width, at(call, 1),
                 [&](std::size_t row, std::size_t column) { return input[row * width + column]; });
}

inline constexpr float root_two_over_pi = 0.7978845608028654F;
inline constexpr float gelu_cubic = 0.044715F;

/// gelu(input, output): x Phi(x) in its tanh form.
template <class Lanes>
RONDO_TRAIN_BOTH inline void gelu(const Call& call, const Lanes& lanes) {
  const float* const input = at(call, 0);
  float* const output = at(call, 1);
  each_element(lanes, count(call, 1), [&](std::size_t i) {
    const float x = input[i];
    const float inner = root_two_over_pi * (x + gelu_cubic * x * x * x);
    output[i] = x / 2 * (1 + hyperbolic_tangent(inner));
  });
}

/// gelu_backward(output_gradient, input, input_gradient), in place or not.
template <class Lanes>
RONDO_TRAIN_BOTH inline void gelu_backward(const Call& call, const Lanes& lanes) {
  const float* const outer = at(call, 0);
  const float* const input = at(call, 1);
  float* const output = at(call, 2);
  each_element(lanes, count(call, 2), [&](std::size_t i) {
    const float x = input[i];
    const float tangent = hyperbolic_tangent(root_two_over_pi * (x + gelu_cubic * x * x * x));
    const float slope = root_two_over_pi * (1 + 3 * gelu_cubic * x * x);
    output[i] = outer[i] * ((1 + tangent) / 2 + x / 2 * (1 - tangent * tangent) * slope);
  });
}

/// add(a, b, output), which may be a or b itself.
template <class Lanes>
RONDO_TRAIN_BOTH inline void add(const Call& call, const Lanes& lanes) {
  const float* const a = at(call, 0);
  const float* const b = at(call, 1);
  float* const output = at(call, 2);
  each_element(lanes, count(call, 2), [&](std::size_t i) { output[i] = a[i] + b[i]; });
}

/// layer_norm(input, gain, bias, output, mean, inverse): output = gain * (input - mean) / deviation
/// + bias, row by row; keeps the mean and 1 / deviation of each row.
template <class Lanes>
RONDO_TRAIN_BOTH inline void layer_norm(const Call& call, const Lanes& lanes) {
  constexpr float epsilon = 1e-5F;  // as PyTorch's LayerNorm
  const std::size_t width = count(call, 1);
  const float* const gain = at(call, 1);
  const float* const bias = at(call, 2);
  each_row(lanes, count(call, 4), [&](std::size_t row) {
    const float* const from = at(call, 0) + row * width;
    float* const into = at(call, 3) + row * width;
    float sum = 0;
    each_lane(lanes, 0, width, [&](std::size_t i) { sum += from[i]; });
    const float mean = lanes.sum(sum) / static_cast<float>(width);
    float squares = 0;
    each_lane(lanes, 0, width,
              [&](std::size_t i) { squares += (from[i] - mean) * (from[i] - mean); });
    const float inverse = 1 / std::sqrt(lanes.sum(squares) / static_cast<float>(width) + epsilon);
    each_lane(lanes, 0, width,
              [&](std::size_t i) { into[i] = (from[i] - mean) * inverse * gain[i] + bias[i]; });
    if (lanes.lane() != 0) return;
    at(call, 4)[row] = mean;
    at(call, 5)[row] = inverse;
  });
}

/// Its backward pass for the input (output_gradient, input, gain, mean, inverse, input_sum). With x
/// the normalised input and g the gradient of it: input_sum += (g - mean(g) - x mean(g x)) /
/// deviation.
template <class Lanes>
RONDO_TRAIN_BOTH inline void layer_norm_rows(const Call& call, const Lanes& lanes) {
  const std::size_t width = count(call, 2);
  const float* const gain = at(call, 2);
  each_row(lanes, count(call, 3), [&](std::size_t row) {
    const float* const outer = at(call, 0) + row * width;
    const float* const input = at(call, 1) + row * width;
    float* const input_sum = at(call, 5) + row * width;
    const float mean = at(call, 3)[row];
    const float inverse = at(call, 4)[row];
    float sum = 0;
    float product = 0;
    each_lane(lanes, 0, width, [&](std::size_t i) {
      sum += outer[i] * gain[i];
      product += outer[i] * gain[i] * ((input[i] - mean) * inverse);
    });
    sum = lanes.sum(sum) / static_cast<float>(width);
    product = lanes.sum(product) / static_cast<float>(width);
    each_lane(lanes, 0, width, [&](std::size_t i) {
      const float normal = (input[i] - mean) * inverse;
      input_sum[i] += (outer[i] * gain[i] - sum - normal * product) * inverse;
    });
  });
}

/// And for its gain (output_gradient, input, mean, inverse, gain_gradient).
template <class Lanes>
RONDO_TRAIN_BOTH inline void layer_norm_columns(const Call& call, const Lanes& lanes) {
  const float* const outer = at(call, 0);
  const float* const input = at(call, 1);
  const float* const mean = at(call, 2);
  const float* const inverse = at(call, 3);
  const std::size_t width = count(call, 4);
  add_to_columns(lanes, count(call, 2), width, at(call, 4),
                 [&](std::size_t row, std::size_t column) {
                   const std::size_t i = row * width + column;
                   return outer[i] * ((input[i] - mean[row]) * inverse[row]);
                 });
}

/// embed(tokens, token_table, position_table, output); sizes: columns, width. Output row i =
/// token_table[tokens[i]] + position_table[i mod columns].
template <class Lanes>
RONDO_TRAIN_BOTH inline void embed(const Call& call, const Lanes& lanes) {
  const std::size_t width = call.sizes[1];
  each_row(lanes, count<std::int32_t>(call, 0), [&](std::size_t row) {
    const auto number = static_cast<std::size_t>(at<const std::int32_t>(call, 0)[row]);
    const float* const token = at(call, 1) + number * width;
    const float* const position = at(call, 2) + row % call.sizes[0] * width;
    float* const into = at(call, 3) + row * width;
    each_lane(lanes, 0, width, [&](std::size_t i) { into[i] = token[i] + position[i]; });
  });
}

/// Its backward pass for the tokens (output_gradient, places, token_gradient); sizes: -, width.
/// `places`: for each token where its own begin, and where the last one's end; then the places of
/// the batch, token by token. They are added up in the order of the batch.
template <class Lanes>
RONDO_TRAIN_BOTH inline void embed_tokens(const Call& call, const Lanes& lanes) {
  const std::size_t width = call.sizes[1];
  const std::size_t tokens = count(call, 2) / width;
  const std::int32_t* const begins = at<const std::int32_t>(call, 1);
  const std::int32_t* const places = begins + tokens + 1;
  each_row(lanes, tokens, [&](std::size_t token) {
    float* const sum = at(call, 2) + token * width;
    for (std::int32_t k = begins[token]; k < begins[token + 1]; ++k) {
      const float* const outer = at(call, 0) + static_cast<std::size_t>(places[k]) * width;
      each_lane(lanes, 0, width, [&](std::size_t i) { sum[i] += outer[i]; });
    }
  });
}

template <class Lanes>
RONDO_TRAIN_BOTH inline float largest_of(const float* row, std::size_t count, const Lanes& lanes) {
  float largest = row[0];
  each_lane(lanes, 0, count, [&](std::size_t i) {
    if (largest < row[i]) largest = row[i];
  });
  return lanes.largest(largest);
}

/// row[i] = exp(row[i] - largest); returns the sum of them.
template <class Lanes>
RONDO_TRAIN_BOTH inline float exponentials(float* row, std::size_t count, const Lanes& lanes) {
  const float largest = largest_of(row, count, lanes);
  float sum = 0;
  each_lane(lanes, 0, count, [&](std::size_t i) {
    const float value = exponential(row[i] - largest);
    row[i] = value;
    sum += value;
  });
  return lanes.sum(sum);
}

/// causal_softmax(scores); sizes: length, count, step. In place, on `count` square matrices. Each
/// row counts up to its own position; later ones are the future and get the weight 0.
template <class Lanes>
RONDO_TRAIN_BOTH inline void causal_softmax(const Call& call, const Lanes& lanes) {
  const std::size_t length = call.sizes[0];
  each_row(lanes, length * call.sizes[1], [&](std::size_t number) {
    const std::size_t own = number % length;
    float* const row = at(call, 0) + number / length * call.sizes[2] + own * length;
    const float sum = exponentials(row, own + 1, lanes);
    each_lane(lanes, 0, own + 1, [&](std::size_t i) { row[i] /= sum; });
    each_lane(lanes, own + 1, length, [&](std::size_t i) { row[i] = 0; });
  });
}

/// softmax_backward(weights, gradients); sizes: length, count, step of the gradients, of the
/// weights. Turns gradients of the weights into gradients of the scores: w (g - sum(w g)).
template <class Lanes>
RONDO_TRAIN_BOTH inline void softmax_backward(const Call& call, const Lanes& lanes) {
  const std::size_t length = call.sizes[0];
  each_row(lanes, length * call.sizes[1], [&](std::size_t number) {
    const std::size_t own = number % length;
    const std::size_t matrix = number / length;
    const float* const weight = at(call, 0) + matrix * call.sizes[3] + own * length;
    float* const gradient = at(call, 1) + matrix * call.sizes[2] + own * length;
    float sum = 0;
    each_lane(lanes, 0, own + 1, [&](std::size_t i) { sum += weight[i] * gradient[i]; });
    sum = lanes.sum(sum);
    each_lane(lanes, 0, own + 1,
              [&](std::size_t i) { gradient[i] = weight[i] * (gradient[i] - sum); });
    each_lane(lanes, own + 1, length, [&](std::size_t i) { gradient[i] = 0; });
  });
}

/// cross_entropy(scores, targets, losses): -log softmax(scores)[target] of each row, in double.
template <class Lanes>
RONDO_TRAIN_BOTH inline void cross_entropy(const Call& call, const Lanes& lanes) {
  const std::size_t rows = count<std::int32_t>(call, 1);
  const std::size_t classes = count(call, 0) / rows;
  each_row(lanes, rows, [&](std::size_t row) {
    const float* const scores = at(call, 0) + row * classes;
    const float target = scores[at<const std::int32_t>(call, 1)[row]];
    const float largest = largest_of(scores, classes, lanes);
    double sum = 0;
    each_lane(lanes, 0, classes,
              [&](std::size_t i) { sum += static_cast<double>(exponential(scores[i] - largest)); });
    const double loss = std::log(lanes.sum(sum)) - static_cast<double>(target - largest);
    if (lanes.lane() == 0) at<double>(call, 2)[row] = loss;
  });
}

/// cross_entropy_backward(scores, targets); numbers: scale. In place: scores become scale *
/// (softmax(scores) - one at the target).
template <class Lanes>
RONDO_TRAIN_BOTH inline void cross_entropy_backward(const Call& call, const Lanes& lanes) {
  const std::size_t rows = count<std::int32_t>(call, 1);
  const std::size_t classes = count(call, 0) / rows;
  const float scale = call.numbers[0];
  each_row(lanes, rows, [&](std::size_t row) {
    float* const scores = at(call, 0) + row * classes;
    const float factor = scale / exponentials(scores, classes, lanes);
    each_lane(lanes, 0, classes, [&](std::size_t i) { scores[i] *= factor; });
    lanes.all_done();
    if (lanes.lane() == 0) scores[at<const std::int32_t>(call, 1)[row]] -= scale;
  });
}

/// squares(values, sums): with n sums, sum i is that of the squares of the values i, i + n, ...
template <class Lanes>
RONDO_TRAIN_BOTH inline void squares(const Call& call, const Lanes& lanes) {
  const float* const values = at(call, 0);
  const std::size_t sums = count<double>(call, 1);
  const std::size_t size = count(call, 0);
  each_element(lanes, sums, [&](std::size_t own) {
    double sum = 0;
    for (std::size_t i = own; i < size; i += sums) {
      const auto value = static_cast<double>(values[i]);
      sum += value * value;
    }
    at<double>(call, 1)[own] = sum;
  });
}

/// sgd(parameters, gradients, velocity); numbers: rate, scale, decay, momentum. As PyTorch's SGD.
/// The velocity is used only if momentum is above 0.
template <class Lanes>
RONDO_TRAIN_BOTH inline void sgd(const Call& call, const Lanes& lanes) {
  float* const parameters = at(call, 0);
  const float* const gradients = at(call, 1);
  float* const velocity = at(call, 2);
  const float rate = call.numbers[0], scale = call.numbers[1];
  const float decay = call.numbers[2], momentum = call.numbers[3];
  each_element(lanes, count(call, 0), [&](std::size_t i) {
    float change = gradients[i] * scale + decay * parameters[i];
    if (momentum > 0) change = velocity[i] = momentum * velocity[i] + change;
    parameters[i] -= rate * change;
  });
}

/// adamw(parameters, gradients, means, squares); numbers: rate, root, keep, scale, beta1, beta2,
/// epsilon. As PyTorch's AdamW.
template <class Lanes>
RONDO_TRAIN_BOTH inline void adamw(const Call& call, const Lanes& lanes) {
  float* const parameters = at(call, 0);
  const float* const gradients = at(call, 1);
  float* const means = at(call, 2);
  float* const squares = at(call, 3);
  const float rate = call.numbers[0], root = call.numbers[1], keep = call.numbers[2];
  const float scale = call.numbers[3], beta1 = call.numbers[4], beta2 = call.numbers[5];
  const float epsilon = call.numbers[6];
  each_element(lanes, count(call, 0), [&](std::size_t i) {
    const float gradient = gradients[i] * scale;
    const float mean = beta1 * means[i] + (1 - beta1) * gradient;
    const float square = beta2 * squares[i] + (1 - beta2) * gradient * gradient;
    means[i] = mean;
    squares[i] = square;
    parameters[i] = parameters[i] * keep - rate * mean / (std::sqrt(square) * root + epsilon);
  });
}

}  // namespace kernels

}  // namespace rondo::train
