// CommunicatorState: what a Communicator handle refers to. Owns the transports, the engine, the
// plan cache and the progress role.
//
// Progress role: the mutex `role_`. Its holder alone touches the engine and the transports. A
// blocking call takes it and works on the caller's thread. The first asynchronous call starts one
// progress thread, which works only while no caller waits for the role (callers_).
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
#include "core/communicator/patience.h"
#include "core/communicator/waker.h"
#include "core/control/control.h"
#include "core/execute/engine.h"
#include "core/plan/call_cache.h"
#include "core/plan/choose.h"
#include "core/plan/prepared.h"
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
  bool is_on_one_machine() const { return surroundings_.one_machine; }
  /// What the choice of an algorithm goes by.
  const Surroundings& surroundings() const { return surroundings_; }
  const AlgorithmSelection& algorithms() const { return algorithms_; }

  /// Collective: every rank's text, by rank, over the control plane.
  std::vector<std::string> exchange(const std::string& mine) { return line_->exchange(mine); }
  /// Collective: a line with a log of its own, for calls that do not go through the engine.
  std::shared_ptr<ControlLine> open_stream_line() const;
  /// Equal on all ranks of this communicator, and on those of no other one.
  std::uint64_t identity() const { return identity_; }

  /// Makes a call and returns when it is complete.
  void call(const Call& call, const void* input, void* output);
  /// Makes a call and returns at once. `deferred`: the caller is about to wait, so the progress
  /// thread need not be woken.
  std::shared_ptr<Operation> start(const Call& call, const void* input, void* output,
                                   bool deferred);
  std::shared_ptr<Operation> start(const Message& message, const void* input, void* output,
                                   bool deferred);
  void call(const Message& message, const void* input, void* output);
  void wait(Operation& operation);
  bool test(Operation& operation);
  /// Makes sure that work goes on while no thread waits for it.
  void carry_on_in_background();

  /// Collective over the members. Not for ranks that leave (negative color): they pass color < 0.
  std::shared_ptr<CommunicatorState> split(int color, int key);
  /// The same where this communicator has failed or was aborted on every rank, but all ranks live.
  std::shared_ptr<CommunicatorState> split_after_failure(int color, int key);
  /// Collective over the members that are not `excluded`; works after a failure, too.
  std::shared_ptr<CommunicatorState> shrink(const std::vector<int>& excluded);
  /// Why no further call can succeed, if so. Any thread.
  std::optional<Error> failure() const;
  void abort(const std::string& reason) noexcept;
  /// Completes what is under way and leaves. Where several machines are traced, collective.
  void finalize() { close(true); }
  std::string describe(const Call& call);
  Traffic traffic();

 private:
  class Turn;  ///< holds the progress role
  using Prepared = std::shared_ptr<const PreparedCall>;

  std::shared_ptr<CommunicatorState> split(const std::shared_ptr<ControlLine>& line, int color,
                                           int key);
  std::shared_ptr<CommunicatorState> child(const std::vector<int>& ranks, std::uint64_t number);
  /// Settles `identity_` too.
  void agree_on_settings();
  void connect_transports();
  /// The direct way, where every rank has it to every other one.
  DirectAccess* connect_direct();
  std::vector<HostInfo> member_hosts() const;
  std::vector<Transport*> pick_transports();
  Transport* make_transport(const TransportKind& kind);
  void log_transports() const;
  /// Where RONDO_TRACE asks for it: a recorder, with how far this rank's clock is from rank 0's.
  void start_trace();
  /// Collective: measures that, where the ranks' machines differ.
  void compare_clocks();
  /// `together`: as for close().
  void write_trace(bool together) noexcept;
  const Prepared& lookup(const Call& call);
  Prepared prepare_call(const Call& call);
  /// "shm", "shm+tcp".
  std::string transport_list() const;
  std::shared_ptr<const Plan> plan_of(const Algorithm& algorithm, int root);
  Prepared lookup(const Message& message);
  Prepared prepare_message(const Message& message);
  std::shared_ptr<Operation> take_operation();
  /// Looks the call up, checks and numbers it.
  void begin(const Call& call, const void* input, void* output, Operation& operation);
  std::shared_ptr<Operation> submit(const Message& message, const void* input, void* output);
  std::shared_ptr<Operation> submit_to_self(const Message& message, const void* input,
                                            void* output);
  /// Runs `body` with the role held; what it throws fails the communicator.
  template <class Body>
  void guarded(Body body);
  void complete(Operation& operation);
  void drive(Operation& operation);
  void step(Patience& patience);
  bool look();
  /// `together`: the other ranks do the same now, so they may be waited for.
  void close(bool together);
  void drain();
  Patience patience() const;  ///< for a wait on these transports
  void idle(Patience& patience);
  void sleep(Patience& patience);
  void sleep_on_descriptors();
  void report_stall(Patience& patience);
  void fail(const Error& error);
  void require_usable() const;
  void background();

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
  Waker waker_;                  ///< of who sleeps on descriptors with the role in its hands
  std::condition_variable background_wakes_;
  std::thread background_;
  bool stopping_ = false;   ///< under role_
  bool finalized_ = false;  ///< under role_

  std::uint64_t sequence_ = 0;  ///< collective calls made
  std::uint64_t history_ = 0;   ///< their fingerprints, mixed
  std::uint64_t splits_ = 0;
  std::uint64_t shrinks_ = 0;
  std::uint64_t repairs_ = 0;        ///< splits after a failure
  std::vector<std::uint64_t> sent_;  ///< by peer: sends made
  std::vector<std::uint64_t> received_;
  CallCache calls_;
  CallCache messages_;  ///< sends and receives
  Patience patience_;   ///< of callers' threads, under role_
  std::map<std::pair<const Algorithm*, int>, std::shared_ptr<const Plan>>
      plans_;           ///< by algorithm and root
  Operation blocking_;  ///< of a blocking call: under role_ from its start to its end
  std::vector<std::shared_ptr<Operation>> operations_;  ///< pool: reused when done and unreferenced
  std::size_t next_operation_ = 0;
  std::vector<std::shared_ptr<Operation>> to_self_;  ///< sends to, or receives from, this very rank
  std::vector<pollfd> descriptors_;
};

}  // namespace rondo::detail
