// Times and checks one row of the table on one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/common/buffer.h"
#include "bench/common/check.h"
#include "bench/common/options.h"
#include "bench/common/program.h"
#include "bench/common/report.h"

namespace rondo::bench {

/// One configuration of the sweep: a type, an operator and a root, at every size. Every rank makes
/// one and calls measure() with the same arguments in the same order. The result is the same on
/// every rank.
class Measurer {
 public:
  /// Allocates for the largest size. Throws std::bad_alloc.
  Measurer(Communicator& communicator, const Program& program, const Options& options,
           DataType type, ReduceOperator op, int root);

  Shape shape(std::size_t bytes) const;
  Measurement measure(std::size_t bytes, bool in_place);

 private:
  /// A duration in seconds by the clock that the options ask for.
  double now() const;
  Layout layout(std::size_t bytes, bool in_place) const;
  /// Prepares the counts that the calls of a layout get.
  void take_counts(const Layout& layout);
  void fill_slots(const Layout& layout);
  void call(const Layout& layout, int iteration);
  void iterate(const Layout& layout, int iteration);
  double time(const Layout& layout, std::vector<double>& iterations);
  double combine(double seconds) const;
  std::size_t check(const Layout& layout);
  IterationTimes gather_iterations(const std::vector<double>& own) const;

  Communicator& communicator_;
  const Program& program_;
  const Options& options_;
  DataType type_;
  ReduceOperator op_;
  int root_;
  bool reduces_;
  Buffer input_;
  Buffer output_;
  std::uint64_t seed_ = 0;             // differs from check to check, equal on all ranks
  std::size_t stride_ = 0;             // bytes between slots of the row
  std::size_t slots_ = 1;              // buffers that iterations rotate over
  std::vector<std::size_t> counts_{};  // of the row's calls with unequal blocks, see Call
  std::vector<std::size_t> received_{};
};

}  // namespace rondo::bench
