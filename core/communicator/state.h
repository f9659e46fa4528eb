// CommunicatorState: what a Communicator handle refers to. Owns the transports, the engine, the
// plan cache and the progress lock.
//
// Progress lock ("role"): the mutex `role_`. Its holder alone touches the engine and the
// transports. A blocking call takes it and works on the caller's thread. The first asynchronous
// call starts one progress thread, which works only while no caller waits for the lock (callers_).
// Lock order: role_ is the only lock held while calling the control plane.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/config.h"
#include "core/base/fork.h"
#include "core/communicator/waker.h"
#include "core/communicator/watchdog.h"
#include "core/control/control.h"
#include "core/execute/backoff.h"
#include "core/execute/engine.h"
#include "core/plan/call_cache.h"
#include "core/plan/choose.h"
#include "core/plan/prepared.h"
#include "core/plan/ragged_calls.h"
#include "core/trace/recorder.h"
#include "core/transport/direct_access.h"
#include "core/transport/doorbell.h"
#include "core/transport/local_exchange.h"
#include "rondo/rondo.h"

namespace rondo {
struct TransportKind;
}

namespace rondo::detail {

/// Which ranks of which world form a communicator, and which of them this is.
struct Membership {
  std::shared_ptr<Control> world{};
  std::shared_ptr<LocalExchange> local{};  ///< of ranks that met as threads; null: met as processes
  std::vector<int> members{};              ///< world rank of each rank
  int rank = 0;
  std::uint64_t number = 0;  ///< equal on all members, unique in the world
};

/// A send to, or a receive from, `peer`. `call.root` is 0 on both sides.
struct Message {
  Call call{};
  int peer = 0;
  bool sends = false;
};

/// An all_to_all_v.
struct Exchange;

class CommunicatorState {
 public:
  /// Collective: settles what rank 0 decides for all, picks a transport for each pair, exchanges
  /// addresses. Connections are made when first used.
  CommunicatorState(Membership membership, const Config& config);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  int rank() const { return membership_.rank; }
  int size() const { return static_cast<int>(membership_.members.size()); }
  const Config& config() const { return config_; }
  /// For its timeout, which any thread may ask for.
  const Watchdog& watchdog() const { return watchdog_; }
  void set_timeout(std::chrono::milliseconds timeout);
  bool is_on_one_machine() const { return surroundings_.one_machine; }
  /// Whether messages to `peer` may lie in memory that DeviceBlocks knows. Any thread.
  bool sends_device_memory(int peer) const {
    const Transport* const transport = transport_of_[static_cast<std::size_t>(peer)];
    return transport != nullptr && transport->sends_device_memory(peer);
  }
  /// The topology that the choice of an algorithm depends on.
  const Surroundings& surroundings() const { return surroundings_; }
  const AlgorithmSelection& algorithms() const { return algorithms_; }
  /// The call as the communicator's settings have it (core/plan/decide.h).
  Call settled(const Call& call) const;

  /// Collective: every rank's text, by rank, over the control plane.
  std::vector<std::string> exchange(const std::string& mine) { return line_->exchange(mine); }
  /// Collective: a line with a log of its own, for calls that do not go through the engine.
  std::shared_ptr<ControlLine> open_stream_line() const;
  /// Equal on all ranks of this communicator, and on those of no other one.
  std::uint64_t identity() const { return identity_; }

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
  void wait(Operation& operation);
  bool test(Operation& operation);
  /// Makes sure that work goes on while no thread waits for it. Throws Error{system} where no
  /// thread can be had: then it goes on while one waits.
  void carry_on_in_background();
  /// The same for work that a thread is about to wait for; false where no thread can be had.
  bool try_to_carry_on();

  /// Collective over the members. A member with a negative color gets null.
  std::shared_ptr<CommunicatorState> split(int color, int key);
  /// The same where this communicator has failed or was aborted on every rank, but all ranks live.
  std::shared_ptr<CommunicatorState> split_after_failure(int color, int key);
  /// Collective over the members that are not `excluded`; works after a failure, too.
  std::shared_ptr<CommunicatorState> shrink(const std::vector<int>& excluded);
  /// Why no further call can succeed, if so. Any thread.
  std::optional<Error> failure() const;
  /// A disagreement between ranks that no call of this rank has reported, as it waited for no rank.
  /// Any thread.
  std::optional<Error> untold() const;
  /// Notes that the failure was reported, by a call of this class or in another way. Any thread.
  void note_told() { told_.store(true, std::memory_order_relaxed); }
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
  bool is_traced() const { return trace_ != nullptr; }
  /// False in a child that its process has forked. Any thread.
  bool is_own() const { return maker_.is_this(); }
  /// Whether its ranks are processes, so that it is left when this process ends; see living.h.
  bool leaves_with_process() const { return membership_.local == nullptr; }
  const std::shared_ptr<Control>& world() const { return membership_.world; }
  std::string describe(const Call& call);
  /// Where calls on GPU buffers are noted; null: nothing is traced. Any thread.
  std::shared_ptr<trace::StreamLog> stream_log() const {
    return trace_ ? trace_->stream_log() : nullptr;
  }
  Traffic traffic();

 private:
  class Turn;  ///< holds the progress lock
  using Prepared = std::shared_ptr<const PreparedCall>;

  std::shared_ptr<CommunicatorState> split(const std::shared_ptr<ControlLine>& line, int color,
                                           int key);
  std::shared_ptr<CommunicatorState> child(const std::vector<int>& ranks, std::uint64_t number);
  /// Settles `identity_` too.
  void agree_on_settings();
  void connect_transports();
  /// The direct path, where every rank has it to every other one.
  DirectAccess* connect_direct();
  std::vector<HostInfo> member_hosts() const;
  std::vector<Transport*> pick_transports();
  Transport* make_transport(const TransportKind& kind);
  void log_transports() const;
  /// If RONDO_TRACE asks for it, makes a recorder and notes how far this rank's clock is from rank
  /// 0's.
  void start_trace();
  /// Collective: measures how far the clocks are apart, where the ranks' machines differ.
  void compare_clocks();
  /// `together`: as for close().
  void write_trace(bool together) noexcept;
  const Prepared& lookup(const Call& call, Counts counts);
  Prepared prepare_call(const Call& call, Counts counts);
  /// "shm", "shm+tcp".
  std::string transport_list() const;
  std::shared_ptr<const Plan> plan_of(const Algorithm& algorithm, int root);
  Prepared lookup(const Message& message);
  Prepared prepare_message(const Message& message);
  std::shared_ptr<const Plan> plan_of(const Message& message);
  std::shared_ptr<Operation> take_operation();
  /// Looks the call up, checks and numbers it.
  void begin(const Call& asked, const void* input, void* output, Operation& operation,
             Counts counts);
  /// The same for a call that has been looked up.
  void begin(const Prepared& prepared, const void* input, void* output, Operation& operation);
  const Prepared& lookup_ragged(const Call& asked, Counts counts);
  /// Completes `blocking_`, which has begun.
  void complete_blocking();
  /// How a call is identified from here on, in the order of this rank's collectives.
  struct Numbered {
    std::uint64_t sequence;
    std::uint64_t fingerprint;
  };
  /// `apart`: calls that begin after it may end before it.
  Numbered number(const Call& call, std::uint64_t fingerprint_base, bool apart = false);
  /// The call is apart. Returns its sequence.
  std::uint64_t number(const Exchange& exchange);
  std::shared_ptr<Operation> submit(const Message& message, const void* input, void* output);
  /// `is_part`: the message belongs to an exchange.
  std::shared_ptr<Operation> submit_to_peer(const Message& message, const void* input, void* output,
                                            bool is_part);
  /// A failure while its messages are begun fails the communicator, and is the operation's error.
  std::shared_ptr<Operation> submit(const Exchange& exchange);
  /// Makes a blocking exchange whose blocks are short.
  void call_short(const Exchange& exchange);
  std::shared_ptr<Operation> submit_to_self(const Message& message, const void* input,
                                            void* output);
  template <class Begin>
  std::shared_ptr<Operation> start_by(Begin begin, bool deferred);
  /// Runs `body` with the role held; what it throws fails the communicator.
  template <class Body>
  void guarded(Body body);
  void complete(Operation& operation);
  void drive(Operation& operation);
  void step(Backoff& backoff);
  bool look();
  /// `together`: the other ranks do the same now, so they may be waited for.
  void close(bool together);
  void drain();
  /// When an exception is on its way: aborts what is under way.
  void abandon_calls();
  Backoff backoff() const;  ///< for a wait on these transports
  void idle(Backoff& backoff);
  void sleep(Backoff& backoff);
  void sleep_on_descriptors();
  void judge_silence();
  void report_stall();
  const Operation* awaited_message() const;
  void fail(const Error& error);
  void require_usable();
  /// Throws in a child by fork(), which lacks the threads that work here and would speak for its
  /// parent.
  void require_own_process() const;
  void background();
  bool is_idle() const;  ///< nothing is under way. Under role_

  const MakerProcess maker_;
  const int exceptions_;  ///< that were on their way when it was made
  Membership membership_;
  Config config_;
  std::uint64_t identity_ = 0;
  std::shared_ptr<ControlLine> line_;
  AlgorithmSelection algorithms_;
  Surroundings surroundings_{};
  bool crowded_ = false;         ///< ranks outnumber cores on this machine
  std::size_t frame_bytes_ = 0;  ///< least slot size of all ranks' channels
  Doorbell doorbell_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> transport_of_;    ///< by peer
  std::unique_ptr<trace::Recorder> trace_;  ///< null: nothing is recorded
  std::unique_ptr<Engine> engine_;

  std::mutex role_;
  std::atomic<int> callers_{0};  ///< threads that wait for the role
  Waker waker_;                  ///< wakes a thread that sleeps on descriptors and holds role_
  std::condition_variable background_wakes_;
  std::thread background_;
  std::atomic<bool> has_background_{false};  ///< a hint, for threads that do not hold role_
  bool stopping_ = false;                    ///< under role_
  bool finalized_ = false;                   ///< under role_
  std::atomic<bool> told_{false};  ///< a call has failed with the failure. Relaxed: guards nothing

  std::uint64_t sequence_ = 0;  ///< collective calls made
  std::uint64_t history_ = 0;   ///< their fingerprints, mixed
  std::uint64_t splits_ = 0;
  std::uint64_t shrinks_ = 0;
  std::uint64_t repairs_ = 0;        ///< splits after a failure
  std::vector<std::uint64_t> sent_;  ///< by peer: sends made
  std::vector<std::uint64_t> received_;
  std::vector<std::shared_ptr<const Plan>> message_plans_;  ///< by peer and direction
  CallCache calls_;
  RaggedCalls ragged_;
  CallCache messages_;   ///< sends and receives
  CallCache exchanged_;  ///< those of exchanges, whose lengths may change each time
  Watchdog watchdog_;
  Backoff backoff_;          ///< of callers' threads, under role_
  std::uint64_t moves_ = 0;  ///< looks that saw something move; under role_
  std::map<std::pair<const Algorithm*, int>, std::shared_ptr<const Plan>>
      plans_;                       ///< by algorithm and root
  Operation blocking_;              ///< of a blocking call: under role_ from its start to its end
  ShortExchange short_exchange_{};  ///< likewise
  std::vector<std::shared_ptr<Operation>> operations_;  ///< pool: reused when done and unreferenced
  std::size_t next_operation_ = 0;
  std::vector<std::shared_ptr<Operation>> to_self_;  ///< sends to, or receives from, itself
  std::vector<pollfd> descriptors_;
};

}  // namespace rondo::detail
