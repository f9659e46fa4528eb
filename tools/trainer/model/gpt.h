// The model: a GPT, with an embedding, blocks, a final norm, and a head that shares the embedding's
// table. Only the computation: a strategy holds the parameters, in units. A block, pre-norm:
//
//   middle = input + projection(attention(packing(norm1(input))))
//   output = middle + narrowing(gelu(widening(norm2(middle))))
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tools/trainer/data/text.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/unit.h"

namespace rondo::train {

class Strategy;

/// Equal on every rank.
struct ModelOptions {
  std::size_t outputs = 0;                   ///< vocabulary of the text
  std::size_t inputs = 0;                    ///< longest text block
  std::size_t layers = 4;                    ///< blocks
  std::size_t heads = 4;                     ///< divides `width`
  std::size_t width = 128;                   ///< of the embedding
  Precision precision = Precision::float32;  ///< every operation's result is rounded to it
  bool checkpoint_activations = false;       ///< keep a block's input only, compute the rest again
};

/// Belongs to one rank; one thread at a time. It makes the strategy's calls before and after its
/// work on a unit. Between `before_X` and `after_X` the spans stay valid and in place. Units nest:
/// the root unit (embedding and head) is open from the first to the last moment of forward, and
/// again of backward; each block opens within it, blocks ascending in forward and descending in
/// backward. A forward may stand alone (evaluation).
class Gpt {
 public:
  /// Throws Error{invalid_argument} if the options make no model.
  Gpt(const ModelOptions& options, Ledger& ledger);

  const Layout& layout() const { return layout_; }
  /// Takes the memory for batches of this shape now. Otherwise forward does it when the shape
  /// changes.
  void reserve(std::size_t rows, std::size_t columns);
  /// Returns the sum (not the mean) of the losses of the batch's targets. Keeps the scores and all
  /// that backward needs.
  double forward(const Batch& batch, Strategy& strategy);
  /// Adds `scale` times the gradient of the sum that forward returned for the same batch.
  void backward(const Batch& batch, Strategy& strategy, double scale);
  /// The scores of the last forward, `outputs` for each target, before softmax. Valid until
  /// backward. They lie in the machine's memory.
  In scores() const { return activations_->scores.span(); }
  /// Floating-point operations of one forward and backward over a batch of `rows`.
  double operations(std::size_t rows) const;

 private:
  /// A norm's result, and the statistics of its rows.
  struct Normal {
    Array<float> values, mean, inverse;

    NormStatistics statistics() { return {mean, inverse}; }
  };
  /// The results of a block's forward that its backward needs, besides the block's input.
  struct BlockKept {
    Normal normal1, normal2;
    Array<float> packed, weights, mixed, middle, wide, active;
  };
  /// Arrays for one shape of batch. With checkpointing, one set serves all blocks in turn.
  struct Activations {
    Activations(Ledger& ledger, const ModelOptions& options, const AttentionShape& shape,
                std::size_t sequences);
    BlockKept& kept_of(std::size_t block) { return kept[std::min(block, kept.size() - 1)]; }

    AttentionShape shape;
    std::vector<Array<float>> streams{};  ///< [i] enters block i; the last enters the final norm
    std::vector<BlockKept> kept{};
    Normal normal;
    Array<float> scores;
    Array<double> losses;
    /// Gradients of activations; one set serves all blocks.
    Array<float> gradient, narrow, wide, packed, weights;
  };
  template <class T>
  struct RootView;
  template <class T>
  struct BlockView;

  void block_forward(const BlockView<const float>& parameters, std::size_t index);
  void block_backward(const BlockView<const float>& parameters, const BlockView<float>& gradients,
                      std::size_t index);

  ModelOptions options_;
  Ledger& ledger_;
  Math math_;
  Math exact_;  ///< for results that are not rounded
  Layout layout_{};
  std::optional<Activations> activations_{};
};

/// The start values of a unit. They depend on the seed and the place in the flat model only.
void start_values(const Unit& unit, std::uint64_t seed, std::span<float> values);

}  // namespace rondo::train
