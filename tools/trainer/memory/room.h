// Plans the memory of a training, and checks that it is there before any is taken.
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
  std::array<std::size_t, uses.size()> held{};  ///< held from the first step on
  std::size_t later = 0;                        ///< at most this is taken and freed within a step
  std::size_t parameters = 0;                   ///< of the model, in elements

  std::size_t total() const;
  /// The part that lies in memory shared by ranks, or the other part.
  Plan part(const Supply& supply, bool common) const;
  /// "12.50 MiB a rank (parameters 3.08, ...)".
  std::string words() const;
};

/// Local. `options.model` knows the data's inputs and outputs. `rows`: samples of the largest
/// batch. Throws Error{invalid_argument} if the options make no model or strategy.
Plan plan_of(const Options& options, Communicator& world, std::size_t rows,
             const Machine& machine = host_machine());

/// Local. Throws Error{out_of_memory} if a rank would need more than `limit` bytes; 0: no limit.
void require_within(const Plan& plan, std::size_t limit);

/// Local. Throws Error{out_of_memory} if this process may not map so much memory, as under `ulimit
/// -v`. OpenBLAS would then ask for its buffers forever. `threads`: of matrix products.
void require_address_space(const Plan& plan, int threads);

/// The memory that a rank needs, and the memory that is free where it runs.
struct Wish {
  CommonMemory from{};
  std::uint64_t bytes = 0;
};

/// Throws AgreedError if the ranks of one place need more than is free there. In order of rank.
/// `where`: "on the machine of rank" or "on the GPU of rank", before a number.
void require_room(const std::vector<Wish>& wishes, const Plan& plan, const std::string& where);
/// Collective. The same check with the free memory that each rank finds. `supply`: where its arrays
/// lie; null: in the host's memory.
void require_room(Communicator& control, const Plan& plan, const Supply* supply = nullptr);

}  // namespace rondo::train
