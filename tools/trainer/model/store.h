// A Store is where a model finds its parameters and leaves its gradients. Strategies are Stores,
// and so are the pairs of arrays in tests.
#pragma once

#include <cstddef>
#include <span>

namespace rondo::train {

/// A model makes these calls before and after its work on a unit. Between `before_X` and `after_X`
/// the spans stay valid and in place. Units nest: a GPT's root unit (embedding and head) is open
/// from the first to the last moment of forward, and again of backward; each block opens within it,
/// blocks ascending in forward and descending in backward. A forward may stand alone (evaluation).
template <class Real>
class Store {
 public:
  virtual ~Store() = default;

  virtual void before_forward(std::size_t unit) = 0;
  virtual void after_forward(std::size_t unit) = 0;
  virtual void before_backward(std::size_t unit) = 0;
  /// The unit's gradient of this micro-step is complete.
  virtual void after_backward(std::size_t unit) = 0;

  /// Valid while the unit is open.
  virtual std::span<const Real> parameters(std::size_t unit) = 0;
  /// Between before_backward and after_backward. The model *adds* to it. Its owner clears it before
  /// each sum.
  virtual std::span<Real> gradients(std::size_t unit) = 0;
};

}  // namespace rondo::train
