// A strategy's shards in this process's own memory, as files need them.
#pragma once

#include <utility>
#include <vector>

#include "tools/trainer/machine/machine.h"

namespace rondo::train {

/// One rank's ranges: the ranges themselves if they lie in this process's memory, otherwise copies
/// of all of them. The machine and the ranges' memory outlive this object.
class Staged {
 public:
  Staged(const Machine& machine, std::vector<Range> ranges)
      : machine_(machine), theirs_(std::move(ranges)), shown_(theirs_) {
    if (machine_.supply() == nullptr) return;
    for (Range& range : shown_) {
      range.parameters = copy(range.parameters);
      for (auto& state : range.states) state = copy(state);
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  const std::vector<Range>& ranges() const { return shown_; }
  /// Copies what was written into ranges() back to the memory that it belongs to.
  void put_back() const {
    if (machine_.supply() == nullptr) return;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      machine_.write(std::span<const float>(shown_[i].parameters), theirs_[i].parameters);
      for (std::size_t state = 0; state < shown_[i].states.size(); ++state)
        machine_.write(std::span<const float>(shown_[i].states[state]), theirs_[i].states[state]);
    }
  }

 private:
  std::span<float> copy(std::span<float> from) {
    auto& into = copies_.emplace_back(from.size());
    machine_.read(std::span<const float>(from), std::span<float>(into));
    return into;
  }

  const Machine& machine_;
  std::vector<Range> theirs_;
  std::vector<Range> shown_;
  std::vector<std::vector<float>> copies_{};  ///< moving them leaves their elements in place
};

}  // namespace rondo::train
