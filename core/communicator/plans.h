// Plans: from a call to its prepared form: choice, schedule, lowering, slicing. All cached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/config.h"
#include "core/communicator/connections.h"
#include "core/communicator/numbering.h"
#include "core/plan/call_cache.h"
#include "core/plan/choose.h"
#include "core/plan/prepared.h"
#include "core/plan/ragged_calls.h"

namespace rondo::detail {

/// Under the progress lock, but for resolved() and algorithms(). References that it returns hold
/// until the next look-up.
class Plans {
 public:
  using Prepared = std::shared_ptr<const PreparedCall>;

  /// Both outlive it. Throws Error{configuration} if RONDO_ALGORITHM has no such algorithm, and what
  /// parse_scripts() throws.
  Plans(int rank, const Config& config, const Connections& connections);

  const AlgorithmSelection& algorithms() const { return algorithms_; }
  /// The call as the communicator's settings have it (core/plan/decide.h).
  Call resolved(const Call& call) const;
  const Prepared& of(const Call& resolved_call, Counts counts);
  /// The same for a call with counts as the caller gave them. They are checked and shaped here.
  const Prepared& of_ragged(const Call& asked, Counts counts);
  Prepared of(const Message& message);
  /// On which collectives RONDO_ALGORITHM has no effect.
  void log() const;

 private:
  int ranks() const { return static_cast<int>(connections_.by_peer().size()); }
  Prepared prepare_call(const Call& call, Counts counts);
  std::shared_ptr<const Plan> plan_of(const Composition& composition, int root);
  std::shared_ptr<const Plan> plan_of(const Message& message);

  int rank_;
  const Config& config_;
  const Connections& connections_;
  AlgorithmSelection algorithms_;
  CallCache<PreparedCall> calls_{};
  RaggedCalls ragged_{};
  CallCache<PreparedCall> messages_{};   ///< sends and receives
  CallCache<PreparedCall> exchanged_{};  ///< those of exchanges, whose lengths may change each time
  std::map<std::pair<Composition, int>, std::shared_ptr<const Plan>>
      plans_{};                                             ///< the int: the root
  std::vector<std::shared_ptr<const Plan>> message_plans_;  ///< by peer and direction
};

}  // namespace rondo::detail
