// Float32 copies of the open units, for parameters and gradients that are stored in 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/array.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/unit.h"

namespace rondo::train {

/// Belongs to one rank. Memory is taken once for each unit size and kept for the next unit of that
/// size.
class WorkingUnits {
 public:
  WorkingUnits(Ledger& ledger, const Layout& layout)
      : ledger_(&ledger), layout_(&layout), open_(layout.units().size()) {}

  /// A run of the unit's size, valid until close(). Its content is undefined.
  std::span<float> open(std::size_t unit);
  void close(std::size_t unit);
  /// The most bytes that can be taken, if at most unit 0 and one other are open at once.
  std::size_t most_bytes() const;
  std::span<float> at(std::size_t unit) { return open_[unit].span(); }

 private:
  Ledger* ledger_;
  const Layout* layout_;
  std::vector<Array<float>> open_;
  std::vector<Array<float>> idle_{};
};

}  // namespace rondo::train
