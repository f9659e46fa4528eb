// A whole model on this rank: parameters in the type of the computation, gradients in the same
// type, and float32 master weights if that type is narrower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/model/unit.h"
#include "tools/trainer/strategy/strategy.h"
#include "tools/trainer/strategy/working.h"

namespace rondo::train {

/// Belongs to one rank; does not communicate.
class Replica {
 public:
  Replica(const Workplace& place, const StrategyOptions& options);

  void adopt(std::size_t unit, std::span<const float> values);
  void open(std::size_t unit);
  void close(std::size_t unit);
  void open_gradients(std::size_t unit);
  /// Adds the gradients since open_gradients() to those that live until the step.
  void close_gradients(std::size_t unit);
  std::span<const float> parameters(std::size_t unit);
  std::span<float> gradients(std::size_t unit);

  void clear_gradients();
  /// The flat model's gradients in their own type.
  void* gradient_bytes();
  std::span<float> float_gradients() { return gradients_.span(); }
  /// Calls visit(begin, float32 gradients) for runs that cover the flat model.
  template <class Visit>
  void each_run(Visit visit);

  /// The values that the optimizer changes: float32, flat.
  std::span<float> master() { return master_.empty() ? parameters_.span() : master_.span(); }
  /// Whether there are master weights in another memory although parameters are float32, too.
  bool offloaded() const { return !narrow_() && !master_.empty(); }
  /// For Range::copies.
  std::span<float> copies(std::size_t begin, std::size_t count) {
    return offloaded() ? parameters_.span().subspan(begin, count) : std::span<float>();
  }
  /// Updates all of the model's parameters from the master weights.
  void master_changed();
  std::span<const std::byte> bytes(std::size_t unit) const;
  std::size_t later_bytes() const {
    return narrow_() ? open_parameters_.most_bytes() + open_gradients_.most_bytes() : 0;
  }

 private:
  bool narrow_() const { return precision_ != Precision::float32; }
  template <class T>
  std::span<T> part(std::span<T> flat, std::size_t unit) const {
    return flat.subspan(layout_.unit(unit).begin, layout_.unit(unit).size);
  }

  const Layout& layout_;
  const Machine& machine_;
  Precision precision_;
  Array<float> parameters_{};  ///< float32 only, as are gradients_
  Array<float> gradients_{};
  Array<std::uint16_t> narrow_parameters_{};  ///< 16 bits only, as is what follows
  Array<std::uint16_t> narrow_gradients_{};
  Array<float> master_{};  ///< 16 bits, or offloaded
  Array<float> run_{};     ///< gradients widened for the optimizer, piece by piece
  WorkingUnits open_parameters_;
  WorkingUnits open_gradients_;
};

template <class Visit>
void Replica::each_run(Visit visit) {
  if (!narrow_()) return visit(std::size_t{0}, std::span<const float>(gradients_.span()));
  for (std::size_t begin = 0; begin < narrow_gradients_.size(); begin += run_.size()) {
    const std::size_t count = std::min(run_.size(), narrow_gradients_.size() - begin);
    const auto run = run_.span().first(count);
    widen(narrow_gradients_.span().subspan(begin, count), run, precision_);
    visit(begin, std::span<const float>(run));
  }
}

}  // namespace rondo::train
