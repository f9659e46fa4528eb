// The trainer's kernels: the operations of math.h, and the optimizers' steps, on a device's memory.
// nvcc compiles these bodies for devices (kernels.cu); tests run them on the host, thread by
// thread.
//
// No thread waits for a thread of another row or element, and none writes what another one reads.
// So the size of blocks and grid is free, and every sum is taken in the same order. A Lanes is one
// of rows.h. It also knows its group() of groups(), each of which goes through whole rows, and its
// thread() of threads().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tools/trainer/device/call.h"
#include "tools/trainer/math/elements.h"
#include "tools/trainer/math/rows.h"
#include "tools/trainer/optimize/rule.h"

namespace rondo::train::device {

template <class T>
RONDO_TRAIN_BOTH inline T* at(const Call& call, std::size_t buffer) {
  return reinterpret_cast<T*>(call.buffers[buffer].at);
}
template <class T>
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

/// zero(values)
struct Zero {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    each_element(lanes, count<float>(call, 0), [&](std::size_t i) { at<float>(call, 0)[i] = 0; });
  }
};

/// repeat(row, output)
struct Repeat {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t width = count<float>(call, 0);
    each_element(lanes, count<float>(call, 1), [&](std::size_t i) {
      at<float>(call, 1)[i] = at<const float>(call, 0)[i % width];
    });
  }
};

/// add_rows(input, sum): a thread for each column, from the first row to the last.
struct AddRows {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const float* const input = at<const float>(call, 0);
    const std::size_t width = count<float>(call, 1);
    const std::size_t size = count<float>(call, 0);
    each_element(lanes, width, [&](std::size_t column) {
      float sum = at<float>(call, 1)[column];
      for (std::size_t i = column; i < size; i += width) sum += input[i];
      at<float>(call, 1)[column] = sum;
    });
  }
};

/// gelu(input, output)
struct Gelu {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    each_element(lanes, count<float>(call, 1), [&](std::size_t i) {
      at<float>(call, 1)[i] = gelu_of(at<const float>(call, 0)[i]);
    });
  }
};

/// gelu_backward(output_gradient, input, input_gradient)
struct GeluBackward {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    each_element(lanes, count<float>(call, 2), [&](std::size_t i) {
      at<float>(call, 2)[i] =
          at<const float>(call, 0)[i] * gelu_derivative(at<const float>(call, 1)[i]);
    });
  }
};

/// add(a, b, output)
struct Add {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    each_element(lanes, count<float>(call, 2), [&](std::size_t i) {
      at<float>(call, 2)[i] = at<const float>(call, 0)[i] + at<const float>(call, 1)[i];
    });
  }
};

/// layer_norm(input, gain, bias, output, mean, inverse)
struct LayerNorm {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t width = count<float>(call, 1);
    each_row(lanes, count<float>(call, 4), [&](std::size_t row) {
      const auto kept =
          norm_row(at<const float>(call, 0) + row * width, at<const float>(call, 1),
                   at<const float>(call, 2), at<float>(call, 3) + row * width, width, lanes);
      if (lanes.lane() != 0) return;
      at<float>(call, 4)[row] = kept.mean;
      at<float>(call, 5)[row] = kept.inverse;
    });
  }
};

/// layer_norm_backward(output_gradient, input, gain, mean, inverse, input_sum): the rows' part.
struct LayerNormRows {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t width = count<float>(call, 2);
    each_row(lanes, count<float>(call, 3), [&](std::size_t row) {
      const NormRow<float> kept{at<const float>(call, 3)[row], at<const float>(call, 4)[row]};
      norm_backward_row(at<const float>(call, 0) + row * width,
                        at<const float>(call, 1) + row * width, at<const float>(call, 2), kept,
                        at<float>(call, 5) + row * width, width, lanes,
                        [](std::size_t, float, float) {});
    });
  }
};

/// layer_norm_backward(output_gradient, input, mean, inverse, gain_gradient, bias_gradient): the
/// columns' part, a thread for each.
struct LayerNormColumns {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t width = count<float>(call, 4);
    const std::size_t rows = count<float>(call, 2);
    each_element(lanes, width, [&](std::size_t column) {
      float gain = at<float>(call, 4)[column];
      float bias = at<float>(call, 5)[column];
      for (std::size_t row = 0; row < rows; ++row) {
        const float outer = at<const float>(call, 0)[row * width + column];
        const float centred =
            at<const float>(call, 1)[row * width + column] - at<const float>(call, 2)[row];
        gain += outer * (centred * at<const float>(call, 3)[row]);
        bias += outer;
      }
      at<float>(call, 4)[column] = gain;
      at<float>(call, 5)[column] = bias;
    });
  }
};

/// embed(tokens, token_table, position_table, output); sizes: columns, width
struct Embed {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t columns = call.sizes[0];
    const std::size_t width = call.sizes[1];
    each_element(lanes, count<float>(call, 3), [&](std::size_t i) {
      const std::size_t place = i / width;
      const auto token = static_cast<std::size_t>(at<const std::int32_t>(call, 0)[place]);
      at<float>(call, 3)[i] = at<const float>(call, 1)[token * width + i % width] +
                              at<const float>(call, 2)[place % columns * width + i % width];
    });
  }
};

/// embed_backward(output_gradient, places, token_gradient); sizes: -, width. `places`: for each
/// token where its own begin, and where the last one's end; then the places of the batch, token by
/// token. A thread for each element of the table adds up its token's, in the order of the batch.
struct EmbedTokens {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t width = call.sizes[1];
    const std::int32_t* const begins = at<const std::int32_t>(call, 1);
    const std::int32_t* const places = begins + count<float>(call, 2) / width + 1;
    each_element(lanes, count<float>(call, 2), [&](std::size_t i) {
      const std::size_t own = i / width;
      float sum = at<float>(call, 2)[i];
      for (std::int32_t k = begins[own]; k < begins[own + 1]; ++k)
        sum += at<const float>(call, 0)[static_cast<std::size_t>(places[k]) * width + i % width];
      at<float>(call, 2)[i] = sum;
    });
  }
};

/// embed_backward(output_gradient, position_gradient); sizes: columns, width
struct EmbedPositions {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t row = call.sizes[0] * call.sizes[1];  // elements of a sequence
    const std::size_t size = count<float>(call, 0);
    each_element(lanes, row, [&](std::size_t i) {
      float sum = at<float>(call, 1)[i];
      for (std::size_t from = i; from < size; from += row) sum += at<const float>(call, 0)[from];
      at<float>(call, 1)[i] = sum;
    });
  }
};

/// causal_softmax(scores); sizes: length, count, step
struct CausalSoftmax {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t length = call.sizes[0];
    each_row(lanes, length * call.sizes[1], [&](std::size_t row) {
      const std::size_t own = row % length;
      causal_softmax_row(at<float>(call, 0) + row / length * call.sizes[2] + own * length, own + 1,
                         length, lanes);
    });
  }
};

/// softmax_backward(weights, gradients); sizes: length, count, step of the gradients, of the
/// weights
struct SoftmaxBackward {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t length = call.sizes[0];
    each_row(lanes, length * call.sizes[1], [&](std::size_t row) {
      const std::size_t own = row % length;
      const std::size_t matrix = row / length;
      softmax_backward_row(at<const float>(call, 0) + matrix * call.sizes[3] + own * length,
                           at<float>(call, 1) + matrix * call.sizes[2] + own * length, own + 1,
                           length, lanes);
    });
  }
};

/// cross_entropy(scores, targets, losses): a double for each row.
struct CrossEntropy {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t rows = count<std::int32_t>(call, 1);
    const std::size_t classes = count<float>(call, 0) / rows;
    each_row(lanes, rows, [&](std::size_t row) {
      const auto target = static_cast<std::size_t>(at<const std::int32_t>(call, 1)[row]);
      const double loss =
          cross_entropy_row(at<const float>(call, 0) + row * classes, classes, target, lanes);
      if (lanes.lane() == 0) at<double>(call, 2)[row] = loss;
    });
  }
};

/// cross_entropy_backward(scores, targets); numbers: scale
struct CrossEntropyBackward {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t rows = count<std::int32_t>(call, 1);
    const std::size_t classes = count<float>(call, 0) / rows;
    each_row(lanes, rows, [&](std::size_t row) {
      const auto target = static_cast<std::size_t>(at<const std::int32_t>(call, 1)[row]);
      cross_entropy_backward_row(at<float>(call, 0) + row * classes, classes, target,
                                 call.numbers[0], lanes);
    });
  }
};

/// Sums of squares (values, sums). With n sums, sum i is that of the values i, i + n, i + 2n, ...
struct Squares {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const std::size_t sums = count<double>(call, 1);
    const std::size_t size = count<float>(call, 0);
    each_element(lanes, sums, [&](std::size_t own) {
      double sum = 0;
      for (std::size_t i = own; i < size; i += sums) {
        const auto value = static_cast<double>(at<const float>(call, 0)[i]);
        sum += value * value;
      }
      at<double>(call, 1)[own] = sum;
    });
  }
};

/// A step (parameters, gradients, velocity); numbers: SgdRule's in their order.
struct Sgd {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const SgdRule rule{call.numbers[0], call.numbers[1], call.numbers[2], call.numbers[3]};
    each_element(lanes, count<float>(call, 0), [&](std::size_t i) {
      update_element(rule, at<float>(call, 0)[i], at<const float>(call, 1)[i],
                     at<float>(call, 2) + i);
    });
  }
};

/// A step (parameters, gradients, means, squares); numbers: AdamwRule's in their order.
struct Adamw {
  template <class Lanes>
  RONDO_TRAIN_BOTH static void run(const Call& call, const Lanes& lanes) {
    const AdamwRule rule{call.numbers[0], call.numbers[1], call.numbers[2], call.numbers[3],
                         call.numbers[4], call.numbers[5], call.numbers[6]};
    each_element(lanes, count<float>(call, 0), [&](std::size_t i) {
      update_element(rule, at<float>(call, 0)[i], at<const float>(call, 1)[i],
                     at<float>(call, 2)[i], at<float>(call, 3)[i]);
    });
  }
};

/// In the order of `kernel_names` and `bodies`.
enum class Kernel : std::size_t {
  zero,
  repeat,
  add_rows,
  gelu,
  gelu_backward,
  add,
  layer_norm,
  layer_norm_rows,
  layer_norm_columns,
  embed,
  embed_tokens,
  embed_positions,
  causal_softmax,
  softmax_backward,
  cross_entropy,
  cross_entropy_backward,
  squares,
  sgd,
  adamw,
};

/// The kernels' names in the image.
inline constexpr std::array<const char*, 19> kernel_names{"rondo_train_zero",
                                                          "rondo_train_repeat",
                                                          "rondo_train_add_rows",
                                                          "rondo_train_gelu",
                                                          "rondo_train_gelu_backward",
                                                          "rondo_train_add",
                                                          "rondo_train_layer_norm",
                                                          "rondo_train_layer_norm_rows",
                                                          "rondo_train_layer_norm_columns",
                                                          "rondo_train_embed",
                                                          "rondo_train_embed_tokens",
                                                          "rondo_train_embed_positions",
                                                          "rondo_train_causal_softmax",
                                                          "rondo_train_softmax_backward",
                                                          "rondo_train_cross_entropy",
                                                          "rondo_train_cross_entropy_backward",
                                                          "rondo_train_squares",
                                                          "rondo_train_sgd",
                                                          "rondo_train_adamw"};

/// The kernels' bodies, for hosts that run them.
template <class Lanes>
inline constexpr std::array<void (*)(const Call&, const Lanes&), kernel_names.size()> bodies{
    &Zero::run<Lanes>,
    &Repeat::run<Lanes>,
    &AddRows::run<Lanes>,
    &Gelu::run<Lanes>,
    &GeluBackward::run<Lanes>,
    &Add::run<Lanes>,
    &LayerNorm::run<Lanes>,
    &LayerNormRows::run<Lanes>,
    &LayerNormColumns::run<Lanes>,
    &Embed::run<Lanes>,
    &EmbedTokens::run<Lanes>,
    &EmbedPositions::run<Lanes>,
    &CausalSoftmax::run<Lanes>,
    &SoftmaxBackward::run<Lanes>,
    &CrossEntropy::run<Lanes>,
    &CrossEntropyBackward::run<Lanes>,
    &Squares::run<Lanes>,
    &Sgd::run<Lanes>,
    &Adamw::run<Lanes>};

}  // namespace rondo::train::device
