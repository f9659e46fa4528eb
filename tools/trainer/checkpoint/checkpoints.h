// Saves a training so that it can be resumed. At any instant the folder holds complete checkpoints:
// the new one, or those before it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rondo/rondo.h"
#include "tools/trainer/checkpoint/folder.h"
#include "tools/trainer/checkpoint/manifest.h"
#include "tools/trainer/checkpoint/options.h"
#include "tools/trainer/checkpoint/shards.h"
#include "tools/trainer/strategy/strategy.h"

namespace rondo::train {

/// Belongs to one rank; every call is collective. Errors are AgreedErrors on every rank; another
/// Error means that a peer is gone. The constructor's other arguments outlive this object.
class Checkpoints {
 public:
  /// `identity`: what a resumed run must have in common with the run that saved. `hook`: for tests
  /// only.
  Checkpoints(CheckpointOptions options, Communicator& control, Strategy& strategy,
              const Layout& layout, std::size_t states, Identity identity, Hook hook = {},
              const Machine& machine = host_machine());

  struct Start {
    std::optional<Position> position{};  ///< empty: the training begins
    std::string words{};                 ///< one or more lines for people: what was found
  };
  /// Call it once, before the first step. Loads the newest checkpoint into the strategy, whatever
  /// strategy and number of ranks saved it. Refuses a folder that has checkpoints if resume is not
  /// asked for, and a checkpoint of another training.
  Start start();

  /// Returns when it is on the disk.
  void save(const Position& position);

 private:
  Manifest expected() const;
  std::optional<std::size_t> newest();
  Manifest verified(std::size_t step);
  void verify_files(std::size_t step, const Manifest& manifest) const;
  void set_aside(std::size_t step);
  SavedFile write_own(const std::filesystem::path& folder);
  void publish(const Position& position, const std::vector<SavedFile>& files);
  void at(const char* point) const {
    if (hook_) hook_(point);
  }
  bool first() const { return control_.rank() == 0; }

  CheckpointOptions options_;
  Communicator& control_;
  Strategy& strategy_;
  const Layout& layout_;
  std::size_t states_;
  Identity identity_;
  Hook hook_;
  const Machine& machine_;
  Folder folder_;
};

}  // namespace rondo::train
