// The numbers in every rank's buffers, for explanations that carry real ones through.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/schedule/layout.h"
#include "core/schedule/schedule.h"

namespace rondo::tool {

/// Elements by rank, buffer, slot and chunk. What nothing has written holds no numbers.
class NumberMemory {
 public:
  using Run = std::vector<std::vector<double>>;  ///< one entry for each chunk of a run

  /// `inputs[rank]`: what its input buffer holds, back to back. Throws Error{invalid_argument}
  /// unless there are as many as it takes.
  NumberMemory(const Schedule& header, const Partition& partition,
               const std::vector<std::vector<double>>& inputs);

  Run read(int rank, const Chunk& run) const;
  void write(int rank, const Chunk& run, const Run& values);
  /// Element by element; no numbers where the operands' sizes differ.
  static Run sum(std::span<const Run> operands);

 private:
  using Place = std::tuple<int, Buffer, int, int>;  ///< rank, buffer, slot, chunk
  Place place(int rank, const Chunk& run, std::size_t i) const;

  int chunks_;
  std::map<Place, std::vector<double>> memory_{};
};

}  // namespace rondo::tool
