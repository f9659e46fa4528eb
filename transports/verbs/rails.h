// The rails of a transport: the ports that it may use, opened when a channel first uses them.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "transports/verbs/rail.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/settings.h"

namespace rondo::verbs {

class Rails {
 public:
  /// Finds the usable ports. Throws Error{configuration} where there is none.
  Rails(const Settings& settings, int rank);

  const Settings& settings() const { return settings_; }
  std::span<const RailName> names() const { return names_; }
  /// The rail for queue pair `pair` of a channel in `lane` to a peer with these ports. Channels and
  /// their queue pairs are dealt out in turn. Throws Error{configuration} when no rail reaches
  /// them.
  Rail& choose(std::span<const RailName> theirs, int lane, int pair, int peer);

  /// Calls Rail::poll() on all rails.
  bool poll() {
    bool moved = false;
    for (Rail* rail : open_) moved |= rail->poll();
    return moved;
  }
  /// Why devices do not read the memory of GPUs that DeviceBlocks knows; empty: they do. Any
  /// thread.
  const std::string& why_not_gpus() const { return why_not_gpus_; }
  /// Deregisters the user's memory that has been freed. False: a device may have to read some of it
  /// once more.
  bool forget_freed();
  /// Descriptors that become ready when something ends on any rail, or at once where something
  /// has ended meanwhile.
  void add_descriptors(std::vector<pollfd>& descriptors);
  /// The rails that are open.
  std::span<Rail* const> open() const { return open_; }

 private:
  Rail& opened(std::size_t at);

  Settings settings_;
  int rank_;
  std::string why_not_gpus_{};
  std::vector<Port> ports_{};
  std::vector<RailName> names_{};               ///< of ports_
  std::vector<std::unique_ptr<Rail>> rails_{};  ///< of ports_; null until one is taken
  std::vector<Rail*> open_{};
  UniqueFd ready_;  ///< always
};

}  // namespace rondo::verbs
