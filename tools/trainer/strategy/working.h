// Float32 copies of the units that are open, where parameters and gradients live in 16 bits.
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

/// One rank's. Memory is taken once for each unit size and kept for the next unit of that size.
class WorkingUnits {
 public:
  WorkingUnits(Ledger& ledger, const Layout& layout)
      : ledger_(&ledger), layout_(&layout), open_(layout.units().size()) {}

  /// A run of the unit's size until close(); its content is left over from before.
  std::span<float> open(std::size_t unit);
  void close(std::size_t unit);
  /// Of all that can be taken, where at most unit 0 and another one are open at once.
  std::size_t most_bytes() const;
  std::span<float> at(std::size_t unit) { return open_[unit].span(); }

 private:
  Ledger* ledger_;
  const Layout* layout_;
  std::vector<Array<float>> open_;
  std::vector<Array<float>> idle_{};
};

}  // namespace rondo::train
