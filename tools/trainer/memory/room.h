// What a training is going to take, and whether there is so much: known before anything is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/memory/supply.h"
#include "tools/trainer/options.h"

namespace rondo::train {

/// Bytes of one rank.
struct Plan {
  std::array<std::size_t, uses.size()> held{};  ///< from the first step on
  std::size_t later = 0;                        ///< comes and goes in a step, at most
  std::size_t parameters = 0;                   ///< of the model, in elements

  std::size_t total() const;
  /// What lies in the memory that ranks share, or what does not.
  Plan part(const Supply& supply, bool common) const;
  /// "12.50 MiB a rank (parameters 3.08, ...)".
  std::string words() const;
};

/// Local. `options.model` knows the data's inputs and outputs; `rows`: of the largest batch. Throws
/// Error{invalid_argument} for what makes no model or strategy.
Plan plan_of(const Options& options, Communicator& world, std::size_t rows,
             const Machine& machine = host_machine());

/// Local. Throws Error{out_of_memory} where a rank would pass `limit` bytes; 0 is none.
void require_within(const Plan& plan, std::size_t limit);

/// Local. Throws Error{out_of_memory} where this process may not map so much, as under
/// `ulimit -v`: there OpenBLAS asks for its buffers for ever. `threads`: of matrix products.
void require_address_space(const Plan& plan, int threads);

/// One rank's wish, and what its surroundings still have.
struct Wish {
  CommonMemory from{};
  std::uint64_t bytes = 0;
};

/// Throws AgreedError where ranks of one place want more than there is; by ascending rank. `where`:
/// "on the machine of rank" or "on the GPU of rank", before a number.
void require_room(const std::vector<Wish>& wishes, const Plan& plan, const std::string& where);
/// Collective: the same with what every rank finds around it. `supply`: where its arrays lie, null
/// for the host's memory.
void require_room(Communicator& control, const Plan& plan, const Supply* supply = nullptr);

}  // namespace rondo::train
