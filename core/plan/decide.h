// Decision: from a call to how it will be carried, also in words. Both communicators and `rondo
// why` take it from here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/plan/choose.h"
#include "core/plan/prepared.h"

namespace rondo {

/// The call as its communicator's settings have it: reproducible, or accumulated in a wider type.
Call resolved(Call call, const Config& config);

/// Bytes of the index space: all blocks of a block collective.
std::size_t index_space_bytes(const Call& call, int ranks);

/// The sizes that the choice for the call depends on.
CallSize size_of(const Call& call, Counts counts, int ranks);

/// One rank's plan of a composition.
std::shared_ptr<const Plan> make_plan(const Composition& composition, int root, int rank,
                                      const Topology& around);

/// The call by messages, and in shared memory where the choice has one. `plan` must be the plan of
/// choice.algorithm and call.root. `frame_bytes`: the least slot size of all ranks' channels.
std::shared_ptr<PreparedCall> decide(const Choice& choice, std::shared_ptr<const Plan> plan,
                                     const Call& call, int rank, const Topology& around,
                                     std::size_t frame_bytes, Counts counts = {});

/// "ring over shm in 4 passes of 65536 B a chunk (why)". `over`: the transports.
std::string words(const PreparedCall& prepared, std::string_view over);

/// "all_reduce of 1024 x float32: " and the words.
std::string sentence(const PreparedCall& prepared, std::string_view over);

}  // namespace rondo
