// Plans the memory of a training, and checks that it is there before any is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rondo/rondo.h"
#include "tools/trainer/machine/machine.h"
#include "tools/trainer/options.h"

namespace rondo::train {

/// Bytes of one rank.
struct Plan {
  std::array<std::size_t, uses.size()> held{};  ///< held all the time
  std::size_t later = 0;       ///< taken for a short while, before or after training
  std::size_t parameters = 0;  ///< of the model, in elements

  std::size_t total() const;
  /// "12.5 MiB a rank (parameters 3.08 MiB, ...)".
  std::string words() const;
};

/// Local. `options.model` knows the text's inputs and outputs. `rows`: samples of the largest
/// batch. Throws Error{invalid_argument} if the options make no model or strategy.
Plan plan_of(const Options& options, Communicator& world, std::size_t rows, const Machine& machine);

/// Local. Throws Error{out_of_memory} if a rank would need more than the options' memory_limit, or
/// if this process may not map so much memory, as under `ulimit -v`. OpenBLAS would then ask for its
/// buffers forever.
void require_within(const Plan& plan, const Options& options);

/// Collective. Throws AgreedError if the ranks of one place need more than is free there. Each of them
/// needs as much.
void require_room(Communicator& control, const Plan& plan, const Machine& machine);

}  // namespace rondo::train
