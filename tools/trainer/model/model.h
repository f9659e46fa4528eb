// A model: only the computation. A Store holds the parameters, in units.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tools/trainer/data/batch.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/store.h"
#include "tools/trainer/model/unit.h"

namespace rondo::train {

/// Equal on every rank.
struct ModelOptions {
  std::string kind = "gpt";                  ///< "gpt" or "mlp"
  std::size_t outputs = 0;                   ///< vocabulary of the text, classes of the points
  std::size_t inputs = 0;                    ///< longest text block, features of a point
  std::size_t layers = 4;                    ///< blocks of the GPT, hidden layers of the MLP
  std::size_t heads = 4;                     ///< GPT only; divides `width`
  std::size_t width = 128;                   ///< embedding or hidden layer
  Precision precision = Precision::float32;  ///< every operation's result is rounded to it
  bool checkpoint_activations = false;       ///< keep a block's input only, compute the rest again
};

/// Belongs to one rank; one thread at a time. Real is double in the tests of gradients.
template <class Real>
class Model {
 public:
  virtual ~Model() = default;

  virtual const Layout& layout() const = 0;
  /// Takes the memory for batches of this shape now. Otherwise forward does it when the shape
  /// changes.
  virtual void reserve(std::size_t rows, std::size_t columns) = 0;
  /// Returns the sum (not the mean) of the losses of the batch's targets. Keeps the scores and all
  /// that backward needs.
  virtual double forward(const Batch& batch, Store<Real>& store) = 0;
  /// Adds `scale` times the gradient of the sum that forward returned for the same batch.
  virtual void backward(const Batch& batch, Store<Real>& store, double scale) = 0;
  /// The scores of the last forward, `outputs` for each target, before softmax. Valid until
  /// backward. They lie in the operations' memory.
  virtual std::span<const Real> scores() const = 0;
  /// Floating-point operations of one forward and backward over a batch of `rows`.
  virtual double operations(std::size_t rows) const = 0;
};

/// `math` outlives the model and works where the ledger's arrays lie. Throws
/// Error{invalid_argument} if the options make no model.
template <class Real>
std::unique_ptr<Model<Real>> make_model(const ModelOptions& options, Ledger& ledger,
                                        const Math<Real>& math = host_math<Real>());

/// The start values of a unit. They depend on the seed, not on the strategy or the number of ranks.
void start_values(const Unit& unit, std::uint64_t seed, std::span<float> values);

}  // namespace rondo::train
