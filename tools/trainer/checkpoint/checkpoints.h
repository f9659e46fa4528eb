// Saves a training so that it can be resumed. At any instant the folder holds complete checkpoints:
// the new one, or those before it.
//
//   DIR/step-00000100               a checkpoint (header.h)
//   DIR/step-00000200.unfinished    being written
//   DIR/step-00000050.broken        set aside by --resume-older
//
// A file gets a name without an ending only by renaming, when all of it is on the disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/checkpoint/header.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Equal on every rank.
struct CheckpointOptions {
  std::string folder{};     ///< shared by all hosts; empty: no checkpoints
  std::size_t every = 100;  ///< save every so many steps, and after the last
  std::size_t keep = 2;     ///< how many of the newest to keep, from 1
  bool resume = false;      ///< continue from the newest; start anew if none
  bool older = false;       ///< if that is damaged, from the one before it
};

/// Called at each named stage of saving (see checkpoints.cc), so that tests can end a process
/// there. May be empty.
using Hook = std::function<void(const char* point)>;

/// Saves and sets the strategy's state and the position. Belongs to one rank; every call is
/// collective. Errors are AgreedErrors on every rank; another Error means that a peer is gone. The
/// constructor's other arguments outlive this object.
class Checkpoints {
 public:
  /// `identity`: what a resumed run must have in common with the run that saved.
  Checkpoints(CheckpointOptions options, Communicator& control, Strategy& strategy,
              const Workplace& place, Identity identity, Position& position, Hook hook = {});

  /// Call it once, before the first step. Loads the newest checkpoint, if there is one, whatever
  /// strategy and number of ranks saved it. Refuses a folder that has checkpoints if resume is not
  /// asked for, and a checkpoint of another training. Returns lines for people: what was found.
  std::string start();
  /// The same in the middle of a run, which goes back to what it saved itself.
  std::string go_back();

  /// Returns when it is on the disk.
  void save();

 private:
  std::filesystem::path at(std::size_t step, const char* ending = "") const;
  std::vector<std::size_t> steps() const;
  std::optional<std::size_t> newest();
  ReadHeader verified(std::size_t step);
  void load(std::size_t step, std::uint64_t arrays);
  void begin(std::size_t step, const std::string& header) const;
  std::uint64_t write_shards(std::size_t step, std::uint64_t arrays);
  void publish(const Header& header, std::uint64_t sum) const;
  template <class Action>
  void on_first(Action action);
  template <class Check>
  void on_checkpoint(std::size_t step, Check check);
  void reach(const char* point) const {
    if (hook_) hook_(point);
  }

  CheckpointOptions options_;
  Communicator& control_;
  Strategy& strategy_;
  const Workplace place_;
  Header header_{};  ///< of this training
  Position& position_;
  Hook hook_;
};

// How the arrays of a flat model are moved, by pieces: the parameters, then each of the optimizer's
// states. A place counts through all arrays, one after the other.

/// A run that a rank holds, in its machine's memory.
struct Piece {
  std::uint64_t place;
  std::span<float> values;
};

/// Array by array. `size`: of the model.
inline std::vector<Piece> pieces_of(const std::vector<Range>& shards, std::size_t size) {
  std::vector<Piece> pieces;
  for (const Range& shard : shards) pieces.push_back({shard.begin, shard.parameters});
  for (std::size_t state = 0; !shards.empty() && state < shards[0].states.size(); ++state) {
    for (const Range& shard : shards)
      pieces.push_back({(state + 1) * size + shard.begin, shard.states[state]});
  }
  return pieces;
}

/// visit(first, values): moves `count` elements through a buffer, piece by piece.
template <class Visit>
void each_piece_of(std::size_t count, Visit visit) {
  constexpr std::size_t longest = 1U << 18;
  std::vector<float> buffer(std::min(count, longest));
  for (std::size_t first = 0; first < count; first += longest)
    visit(first, std::span(buffer).first(std::min(longest, count - first)));
}

}  // namespace rondo::train
