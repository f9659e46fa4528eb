// CommunicatorState: what a Communicator handle refers to. Joins parts that each have one job, and
// makes the calls with them.
//
// Under the progress lock (progress.h), but for what says that any thread may call it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/communicator/agreement.h"
#include "core/communicator/connections.h"
#include "core/communicator/dependants.h"
#include "core/communicator/derivation.h"
#include "core/communicator/lifetime.h"
#include "core/communicator/numbering.h"
#include "core/communicator/operation_pool.h"
#include "core/communicator/plans.h"
#include "core/communicator/progress.h"
#include "core/communicator/sends_to_self.h"
#include "core/communicator/tracing.h"
#include "core/communicator/watchdog.h"
#include "core/control/control.h"
#include "core/execute/engine.h"
#include "rondo/rondo.h"

namespace rondo::detail {

/// An all_to_all_v.
struct Exchange;

class CommunicatorState {
 public:
  /// Collective: settles what rank 0 decides for all, picks a transport for each pair, exchanges
  /// addresses. Connections are made when first used. `control` is the members'.
  CommunicatorState(Membership membership, const Config& config,
                    std::shared_ptr<ControlChannel> control);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  int rank() const { return derivation_.parent().rank; }
  int size() const { return derivation_.parent().size(); }
  const Config& config() const { return agreed_.config; }
  /// For its timeout, which any thread may ask for.
  const Watchdog& watchdog() const { return watchdog_; }
  void set_timeout(std::chrono::milliseconds timeout) {
    progress_.require_own_process();
    watchdog_.set_timeout(timeout);
    parts_.each([timeout](CommunicatorState& each) { each.set_timeout(timeout); });
  }
  bool is_on_one_machine() const { return topology().one_machine; }
  /// The topology that the choice of an algorithm depends on.
  const Topology& topology() const { return connections_.topology(); }
  const AlgorithmSelection& algorithms() const { return plans_.algorithms(); }
  /// The call as the communicator's settings have it (core/plan/decide.h).
  Call resolved(const Call& call) const { return plans_.resolved(call); }

  /// Collective: every rank's text, by rank, over the control plane.
  std::vector<std::string> exchange(const std::string& mine) { return control_->exchange(mine); }
  /// Collective: a channel with a log of its own, for calls that do not go through the engine.
  std::shared_ptr<ControlChannel> open_stream_channel() const {
    return derivation_.open_stream_channel();
  }
  /// For parts of this communicator. `word`: as Whole's.
  std::shared_ptr<Whole> as_whole(std::shared_ptr<std::uint32_t> word) const {
    return std::make_shared<Whole>(rank(), control_, open_stream_channel(), std::move(word));
  }
  /// Equal on all ranks of this communicator, and on those of no other one.
  std::uint64_t identity() const { return agreed_.identity; }

  /// Makes a call and returns when it is complete.
  void call(const Call& call, const void* input, void* output, Counts counts = {});
  /// The same for a call with counts as the caller gave them. They are checked and shaped here.
  void call_ragged(const Call& asked, const void* input, void* output, Counts counts);
  /// Makes a call and returns at once. `deferred`: the caller is about to wait, so the progress
  /// thread need not be woken.
  std::shared_ptr<Operation> start(const Call& call, const void* input, void* output, bool deferred,
                                   Counts counts = {});
  std::shared_ptr<Operation> start(const Message& message, const void* input, void* output,
                                   bool deferred);
  void call(const Message& message, const void* input, void* output);
  /// An exchange is one operation, complete when all its messages are; checked before.
  std::shared_ptr<Operation> start(const Exchange& exchange, bool deferred);
  void call(const Exchange& exchange);
  /// Memory for one call, which ends before the next one that takes some.
  void* call_memory(std::size_t bytes) { return operations_.memory(bytes); }
  /// For waiting, and for work that goes on meanwhile.
  Progress& progress() { return progress_; }
  /// For one-sided calls (one_sided.h).
  Connections& connections() { return connections_; }
  Engine& engine() { return engine_; }
  /// Under the progress lock: begins a send or receive. Throws where no call can succeed.
  std::shared_ptr<Operation> submit(const Message& message, const void* input, void* output);
  /// Throws where no call can succeed. Under the progress lock.
  void require_usable() { lifetime_.require_usable(); }
  /// Under the progress lock.
  bool is_finalized() const { return lifetime_.is_finalized(); }

  /// Collective over the members. A member with a negative color gets null.
  std::shared_ptr<CommunicatorState> split(int color, int key);
  /// Collective. As split(), for a part of this communicator's work: abort() of this one ends it,
  /// too. `whole`: they fail together; null: a failure there is none here.
  std::shared_ptr<CommunicatorState> open_part(int color, std::shared_ptr<Whole> whole);
  /// The same among the members that live, also where this communicator has failed on every rank.
  std::shared_ptr<CommunicatorState> split_living(int color, int key);
  /// Collective over the members that are not `excluded`; works after a failure, too.
  std::shared_ptr<CommunicatorState> shrink(const std::vector<int>& excluded);
  /// As Communicator's.
  Agreed agree(std::uint64_t flags);
  std::shared_ptr<CommunicatorState> shrink();
  std::shared_ptr<CommunicatorState> grow(int ranks, const std::optional<UniqueId>& id);
  /// Throws Error{invalid_argument} where it cannot grow to so many.
  void check_growth(int ranks) const;
  /// Why no further call can succeed, if so. Any thread.
  std::optional<Error> failure() const { return lifetime_.failure(); }
  /// A disagreement between ranks that no call of this rank has reported, as it waited for no rank.
  /// Any thread.
  std::optional<Error> untold() const { return lifetime_.untold(); }
  /// Notes that the failure was reported, by a call of this class or in another way. Any thread.
  void note_told() { lifetime_.note_told(); }
  void abort(const std::string& reason) noexcept;
  /// The same with an error that all ranks have, because calls outside the engine met it.
  void end_with(const Error& error) noexcept;
  /// Completes what is under way and leaves. Throws untold(), also if the disagreement turns out
  /// only here: ranks with fewer calls are given a fifth of a second, to compare theirs. Collective
  /// where several machines are traced.
  void finalize() { close(true); }
  /// For a process that ends in order: leaves as finalize() does, but waits for no other rank. Does
  /// not leave where a call is under way that does not end, or where it has failed.
  void leave_at_exit() { close(false); }
  /// For a process that ends otherwise, and for ranks that are threads: writes the trace, unless
  /// another thread is in the middle of a call.
  void keep_trace();
  bool is_traced() const { return tracing_.is_on(); }
  /// False in a child that its process has forked. Any thread.
  bool is_own() const { return progress_.is_own(); }
  /// Whether its ranks are processes, so that it is left when this process ends; see live_registry.h.
  bool leaves_with_process() const { return derivation_.parent().local == nullptr; }
  const std::shared_ptr<Control>& world() const { return derivation_.parent().world; }
  std::string describe(const Call& call);
  /// Where calls on GPU buffers are noted; null: nothing is traced. Any thread.
  std::shared_ptr<trace::StreamLog> stream_log() const { return tracing_.stream_log(); }
  Traffic traffic();

 private:
  using Lock = Progress::Lock;
  using Prepared = Plans::Prepared;

  /// A communicator of these members with this one's settings.
  std::shared_ptr<CommunicatorState> make_child(Membership members) const;
  /// Looks the call up, checks and numbers it.
  void begin(const Call& asked, const void* input, void* output, Operation& operation,
             Counts counts);
  /// The same for a call that has been looked up.
  void begin(const Prepared& prepared, const void* input, void* output, Operation& operation);
  /// Completes the blocking operation, which has begun.
  void complete_blocking();
  /// The call is apart. Returns its sequence.
  std::uint64_t number(const Exchange& exchange);
  /// `is_part`: the message belongs to an exchange.
  std::shared_ptr<Operation> submit_to_peer(const Message& message, const void* input, void* output,
                                            bool is_part);
  /// A failure while its messages are begun fails the communicator, and is the operation's error.
  std::shared_ptr<Operation> submit(const Exchange& exchange);
  /// Makes a blocking exchange of short blocks: without an operation for each message.
  void call_short(const Exchange& exchange);
  std::shared_ptr<Operation> submit_to_self(const Message& message, const void* input,
                                            void* output);
  template <class Begin>
  std::shared_ptr<Operation> start_by(Begin begin, bool deferred);
  /// `together`: the other ranks do the same now, so they may be waited for.
  void close(bool together);
  /// When an exception is on its way: aborts what is under way.
  void abandon_calls();
  /// Collective over the members that live: what they say in this function, by rank.
  template <class Value>
  std::vector<std::optional<Value>> hear_living(const char* function, const Value& mine);

  Derivation derivation_;
  const std::shared_ptr<ControlChannel> control_;
  const Agreement agreed_;
  Connections connections_;
  Plans plans_;
  Numbering numbering_;
  Tracing tracing_;
  Engine engine_;
  SendsToSelf to_self_{};
  Watchdog watchdog_;
  Lifetime lifetime_;
  Progress progress_;
  OperationPool operations_{};
  Dependants parts_{};
  const std::shared_ptr<PreparedCall> short_exchange_ = std::make_shared<PreparedCall>();
};

}  // namespace rondo::detail
