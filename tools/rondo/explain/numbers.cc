#include "tools/rondo/explain/numbers.h"

#include <string>

#include "rondo/error.h"

namespace rondo::tool {

NumberMemory::NumberMemory(const Schedule& header, const Partition& partition,
                           const std::vector<std::vector<double>>& inputs)
    : chunks_(header.layout.chunks()) {
  if (inputs.size() != static_cast<std::size_t>(header.ranks))
    throw Error(ErrorCode::invalid_argument, "values of " + std::to_string(inputs.size()) +
                                                 " ranks for " + std::to_string(header.ranks));
  for (int rank = 0; rank < header.ranks; ++rank) {
    const std::vector<double>& all = inputs[static_cast<std::size_t>(rank)];
    const ChunkSpan span = held(header.collective, Buffer::input, header.layout, rank, header.root);
    const std::size_t begin = partition.offset(span.first);
    if (all.size() != partition.offset(span.first + span.count) - begin)
      throw Error(ErrorCode::invalid_argument,
                  std::to_string(all.size()) + " values for an input of " +
                      std::to_string(partition.offset(span.first + span.count) - begin),
                  {.rank = rank});
    for (int chunk = span.first; chunk < span.first + span.count; ++chunk) {
      const auto at = [&](int c) {
        return all.begin() + static_cast<std::ptrdiff_t>(partition.offset(c) - begin);
      };
      memory_[{rank, Buffer::input, 0, chunk}].assign(at(chunk), at(chunk + 1));
    }
  }
}

NumberMemory::Place NumberMemory::place(int rank, const Chunk& run, std::size_t i) const {
  const auto chunk = (run.first + i) % static_cast<std::size_t>(chunks_);
  return {rank, run.buffer, run.slot, static_cast<int>(chunk)};
}

NumberMemory::Run NumberMemory::read(int rank, const Chunk& run) const {
  Run values(run.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = memory_.find(place(rank, run, i));
    if (found != memory_.end()) values[i] = found->second;
  }
  return values;
}

void NumberMemory::write(int rank, const Chunk& run, const Run& values) {
  for (std::size_t i = 0; i < values.size() && i < run.count; ++i)
    memory_[place(rank, run, i)] = values[i];
}

NumberMemory::Run NumberMemory::sum(std::span<const Run> operands) {
  Run total = operands.front();
  for (const Run& operand : operands.subspan(1)) {
    for (std::size_t i = 0; i < total.size(); ++i) {
      if (i >= operand.size() || operand[i].size() != total[i].size()) {
        total[i].clear();
        continue;
      }
      for (std::size_t e = 0; e < total[i].size(); ++e) total[i][e] += operand[i][e];
    }
  }
  return total;
}

}  // namespace rondo::tool
