// The reference: a collective carried out in memory, step by step, on real bytes. The oracle of
// every executor's test.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/schedule/program.h"
#include "core/schedule/schedule.h"
#include "rondo/types.h"

namespace rondo {

/// How elements are combined. Handed in, since the schedule layer knows no kernels; meant to be
/// rondo::reduce, rondo::scale and rondo::divide of kernels/cpu/reduce.h, whose contracts hold
/// here.
struct Arithmetic {
  std::function<void(DataType, ReduceOperator, void* output, std::span<const void* const> operands,
                     std::size_t count)>
      reduce{};
  std::function<void(DataType, void* output, const void* input, double factor, std::size_t count)>
      scale{};
  std::function<void(DataType, void* values, std::size_t divisor, std::size_t count)> divide{};
};

using Bytes = std::vector<std::byte>;

/// inputs[rank] holds the chunks that held() names, back to back, and the result's outputs
/// likewise; output bytes that the collective leaves alone are zero. `op` is used by reducing
/// collectives only. avg: floats scale each input chunk by 1 / ranks as it is read, integers divide
/// the output. Throws Error{invalid_argument} for inputs of the wrong size, Error{internal} when
/// the schedule gets stuck.
std::vector<Bytes> reference(const Schedule& schedule, const Partition& partition, DataType type,
                             ReduceOperator op, const std::vector<Bytes>& inputs,
                             const Arithmetic& arithmetic);

/// The same by lowered programs, one of each rank.
std::vector<Bytes> reference(const Schedule& header, std::span<const Program> programs,
                             const Partition& partition, DataType type, ReduceOperator op,
                             const std::vector<Bytes>& inputs, const Arithmetic& arithmetic);

}  // namespace rondo
