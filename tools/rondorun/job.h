// The whole job: what happens when ranks end or fail, and when the user sends a signal.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/rondorun/children.h"
#include "tools/rondorun/event_loop.h"
#include "tools/rondorun/node.h"
#include "tools/rondorun/options.h"
#include "tools/rondorun/output.h"
#include "tools/rondorun/signals.h"

namespace rondo::launch {

/// Life of a job:
///
///   preparing --all nodes ready--> running --all ranks ended--> (leftovers end) --> over
///                                     |
///                  first failure: named after announce_delay; the others get SIGTERM
///                  settle_time later, SIGKILL the grace time after that
///                  each failure of an elastic job: named after announce_delay; the others go on
///                  first signal to end: passed on, SIGKILL the grace time later
///                  second one: SIGKILL
class Job : public NodeEvents {
 public:
  Job(const Options& options, const BlockedSignals& signals, const UniqueFd& lifeline);
  ~Job() override { loop_.forget(lifeline_); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns the exit status of rondorun, with no process left on this machine.
  int run();

  void ready(int node, const std::string& host, std::uint16_t port) override;
  void started(int rank, pid_t process) override;
  void output(int rank, Stream stream, std::string_view bytes) override;
  void ended(int rank, Ending ending) override;
  void refused(int node, int status, const std::string& reason) override;
  void finished(int node) override;
  void lost(int node, const std::string& reason) override;
  bool congested() const override { return output_.congested(); }

 private:
  struct RankState {
    pid_t process = 0;
    std::optional<Ending> ending{};
  };
  struct NodeState {
    std::unique_ptr<Node> node;
    NodePlan plan{};
    std::string host{};
    bool ready = false;
    bool over = false;
  };

  void make_local_node(const Options& options);
  void make_remote_nodes(const Options& options);
  void start_nodes();
  void start_node(NodeState& state);

  void on_signal(int number);
  void interrupt(int number);
  void output_broke(int error);

  void note_failure(int rank);
  int bring_cause_forward();
  void name_new_failures();
  void lose_ranks(const NodeState& state, const std::string& what);
  int status_at_end() const;
  int running() const;
  void announce();
  void report_followers();
  void fail(int status, const std::string& text);
  void terminate_all();
  void kill_all();
  void kill_after_grace();
  void check_all_ended();
  void check_over();

  NodeState& node_of(int rank);
  std::string name_of(int rank);

  EventLoop loop_;
  Children children_;
  sigset_t rank_signals_;
  int lifeline_;
  std::chrono::milliseconds grace_;
  bool elastic_;
  Output output_;
  SignalSource signal_source_;
  std::vector<NodeState> nodes_;
  std::map<int, RankState> ranks_;
  struct {
    std::vector<int> ranks;  ///< in the order in which it was seen, but for the cause
    std::size_t named = 0;   ///< elastic jobs: so many of them have been
  } failures_;
  bool ending_ = false;  ///< ranks have been told to end; what happens to them is no failure
  bool killing_ = false;
  int interruption_ = 0;         ///< the signal that asked the job to end
  std::optional<int> status_{};  ///< of the failure that ends the job, once it has been told
};

}  // namespace rondo::launch
