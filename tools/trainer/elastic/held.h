// What the ranks of a training know when its communicator has failed, or when more ranks come, and how
// it goes on from there.
//
// Each rank keeps a copy of its part of the model as it was after the last step that was complete on
// this rank. Ranks may be a step apart: one has left the last call of a step, another has not. The
// newest step counts of which the ranks together have the whole model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/trainer/run.h"

namespace rondo::train {

/// One rank's part of a training. Owns its values.
struct Held {
  struct Part {
    std::uint64_t place = 0;  ///< see checkpoints.h
    std::vector<float> values{};
  };
  std::uint64_t ranks = 0;  ///< among which the model was shared
  Position position{};
  std::vector<Part> parts{};  ///< none if the optimizer was in the middle of a step
  std::vector<StepRecord> steps{};
};

/// Local; works after a failure, too.
Held hold(Run& run);

/// What a rank holds.
struct Offer {
  std::uint64_t step = 0;
  std::uint64_t elements = 0;  ///< all of the model's, none, or a share that is in no other rank's
  std::uint64_t ranks = 1;     ///< with a share: among how many it was shared alike
};

/// The ranks that hold all `size` elements at the newest step at which some do, the lowest ones.
/// `offers`: of each rank. Empty: there is no such step.
std::vector<int> newest_whole(std::span<const Offer> offers, std::size_t size);

/// Where a training goes on.
struct Restored {
  std::size_t from = 0;  ///< the newest step that any rank had done
  std::size_t step = 0;  ///< the one after which it goes on
};

/// Collective over the ranks of `run`, which has just been made, and nothing else has been done with
/// it. Goes on from the newest whole state of the ranks; without one from the newest checkpoint; and
/// anew if nothing is lost by it, or if there is a folder for checkpoints and none yet. Throws
/// AgreedError if the training is lost; `lost` says how, for people: "died with rank 2".
Restored restore(Run& run, const Held& held, const Options& options, Communicator& world,
                 const std::string& lost, bool unfinished);

}  // namespace rondo::train
