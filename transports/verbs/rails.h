// The rails of a transport: every port it uses, opened.
//
// Only sources that are built when libibverbs's headers are there include this one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/unique_fd.h"
#include "transports/verbs/rail.h"
#include "transports/verbs/reach.h"
#include "transports/verbs/settings.h"

namespace rondo::verbs {

class Rails {
 public:
  /// Opens every usable port. Throws Error{configuration} where there is none.
  Rails(const Settings& settings, int rank);

  const Settings& settings() const { return settings_; }
  std::span<const RailName> names() const { return names_; }
  /// The rail for queue pair `pair` of a channel in `lane` towards a peer's ports: channels and
  /// their queue pairs are dealt out in turn. Throws Error{configuration} when none reaches them.
  Rail& choose(std::span<const RailName> theirs, int lane, int pair, int peer);

  /// As Rail::poll(), on all.
  bool poll();
  /// Descriptors that become ready when something ends on any rail, or at once where something
  /// has ended meanwhile.
  void add_descriptors(std::vector<pollfd>& descriptors);
  std::span<const std::unique_ptr<Rail>> all() const { return rails_; }

 private:
  Settings settings_;
  int rank_;
  std::vector<RailName> names_{};
  std::vector<std::unique_ptr<Rail>> rails_{};
  UniqueFd ready_;  ///< always
};

}  // namespace rondo::verbs
