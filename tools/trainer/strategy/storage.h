// How a rank keeps the parameters or the gradients of a model: all of them, or only its own blocks.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tools/trainer/strategy/partition.h"
#include "tools/trainer/strategy/values.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// For Parameters and Gradients. Where only own blocks are kept, whole segments lie in buffers as long
/// as they are needed. Where values are kept in 16 bits, units are float32 while they are open. The
/// constructor's arguments outlive it.
class Storage {
 public:
  std::span<float> at(std::size_t unit) {
    if (values_.is_narrow()) return working_.at(unit);
    return values_of(partition_.segment_of(unit))
        .floats(begin_of(unit), place_.layout.unit(unit).size);
  }
  /// As Strategy::later_bytes().
  std::size_t later_bytes() const {
    return (blocks_only_ ? partition_.most_held() * size_of(values_.type()) : 0) +
           (values_.is_narrow() ? working_.most_bytes() : 0);
  }

 protected:
  /// `use`: of what is kept; `later`: of the buffers.
  Storage(const Workplace& place, const Partition& partition, const StrategyOptions& options,
          bool blocks_only, Use use, Use later)
      : place_(place),
        partition_(partition),
        options_(options),
        blocks_only_(blocks_only),
        values_(place.ledger, use, options.precision,
                blocks_only ? partition.own_size() : partition.whole_size()),
        pool_(place.ledger, later, options.precision),
        working_(place.ledger, place.layout),
        buffers_(partition.segments().size()),
        calls_(partition.segments().size()) {}

  Values& values_of(std::size_t segment) { return blocks_only_ ? buffers_[segment] : values_; }
  /// Where a unit begins in the values of its segment.
  std::size_t begin_of(std::size_t unit) const {
    return blocks_only_ ? partition_.offset_in_segment(unit) : partition_.whole_begin(unit);
  }
  /// Where this rank's block of a segment begins in what is kept.
  std::size_t own_begin(std::size_t segment) const {
    return blocks_only_ ? partition_.segment(segment).own : partition_.own_block(segment);
  }
  void take_buffer(std::size_t segment) {
    buffers_[segment] = pool_.take(partition_.padded(segment));
  }
  void give_buffer(std::size_t segment) { pool_.give(std::exchange(buffers_[segment], {})); }

  const Workplace& place_;
  const Partition& partition_;
  const StrategyOptions& options_;
  bool blocks_only_;
  Values values_;
  Pool pool_;
  WorkingUnits working_;         ///< 16 bits only
  std::vector<Values> buffers_;  ///< by segment; empty: it is not needed now
  std::vector<Pending> calls_;   ///< by segment; after the buffers that they use
};

}  // namespace rondo::train
