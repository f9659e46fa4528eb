// Hierarchy: collectives between the GPUs of several hosts, in steps (steps.h). It has two parts of
// the communicator, which are communicators themselves:
//
//   inside   the ranks of this host, from device to device
//   across   the ranks with this one's index on every host, through the hosts' memory
//
// A failure of a part is one of the whole, and the other way round (core/communicator/whole.h).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/base/first_failure.h"
#include "core/communicator/whole.h"
#include "core/dispatch/asked.h"
#include "core/dispatch/steps.h"
#include "core/stream/traced.h"

namespace rondo::dispatch {

/// For the thread that makes calls, but for withdraw() and rethrow_failure().
class Hierarchy {
 public:
  /// Collective. Null on every rank where the hosts have different numbers of ranks, or one; or
  /// where GPUs of a host do not reach each other. RONDO_DEBUG=INFO says why. Throws as
  /// RankCalls::prepare().
  static std::unique_ptr<Hierarchy> make(const State& state, const cuda::SharedContext& context);
  ~Hierarchy();
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  /// A call in steps that goes into its stream.
  struct Turn {
    std::vector<Step> steps{};  ///< none: it takes another path
    std::uint64_t number = 0;   ///< 0: it is captured
    stream::Traced traced{};
  };
  /// Announces a collective, which every rank does. It is made in steps where all of this rank's
  /// buffers are device memory. Throws the failure of an earlier call, and Error{invalid_usage} for
  /// a stream of another context.
  Turn begin(const stream::Request& request);
  /// What comes next into the stream is the first step.
  void enter(const Turn& turn, cuda::Stream stream) const;
  void copy(const Step& step, cuda::Stream stream) const;
  /// All steps are in the stream.
  void end(const Turn& turn, cuda::Stream stream) const;

  RankCalls& inside() const { return *inside_; }
  RankCalls& across() const { return *across_; }
  /// The order of calls in steps.
  stream::Orders& orders() const;

  /// As RankCalls'.
  void finish();
  void finish_in_order();
  void leave();
  void withdraw();
  void leave_rendezvous();
  bool is_kept() const;
  /// Throws why no call can succeed: the failure of the whole, or of a part that the whole does not
  /// know yet.
  void rethrow_failure() const;

 private:
  class Memory;

  Hierarchy(State state, std::shared_ptr<Memory> memory, Place place);
  /// Collective. Empty, or why calls are not made in steps.
  std::string open_parts(const cuda::SharedContext& context);

  const State state_;
  const std::shared_ptr<Memory> memory_;
  const Place place_;
  const std::shared_ptr<detail::Whole> whole_;
  std::shared_ptr<RankCalls> inside_{};
  std::shared_ptr<RankCalls> across_{};
};

/// Puts those of a thread's calls that are made in steps into their streams, step by step, so that
/// one thread can make the calls of several ranks; and those that stand between such calls of one
/// communicator. Returns the others.
AskedList put_in_steps(AskedSpan group, FirstFailure& failure);

}  // namespace rondo::dispatch
