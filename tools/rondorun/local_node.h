// Ranks that are children of this process.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "tools/rondorun/children.h"
#include "tools/rondorun/event_loop.h"
#include "tools/rondorun/node.h"
#include "tools/rondorun/port.h"

namespace rondo::launch {

/// Which of this process's own descriptors ranks get.
struct Handover {
  bool input = false;  ///< rank 0 of the world; all others read /dev/null
  bool output = false;
  bool error = false;
};

/// The calling process must be a subreaper. Then processes that a rank leaves are ended as well,
/// even if they have left the rank's process group and session.
class LocalNode : public Node {
 public:
  LocalNode(EventLoop& loop, Children& children, NodeEvents& events, Handover handover,
            const sigset_t& rank_signals);

  void prepare(bool choose_port) override;
  void start(const NodePlan& plan) override;
  void signal(int number) override;
  void terminate() override;
  void kill() override;

 private:
  using Source = std::pair<int, Stream>;

  void require_descriptors(int newest) const;
  void start_rank(int local_rank, const std::vector<std::string>& inherited, int null);
  /// The end that the rank writes to; nothing where the rank gets this process's own descriptor.
  UniqueFd connect(int rank, Stream stream, bool handed_over);
  void read(Source source);
  void drain(Source source);
  void rank_ended(int rank, Ending ending);
  void kill_again();
  void require_library() const;
  void none_left();

  EventLoop& loop_;
  Children& children_;
  NodeEvents& events_;
  Handover handover_;
  sigset_t rank_signals_;
  NodePlan plan_{};
  std::optional<PortReservation> port_;
  std::map<int, pid_t> running_;  ///< by rank
  std::map<Source, UniqueFd> streams_;
  std::string nccl_{};  ///< what --nccl preloads; empty without it
  bool killing_ = false;
  bool finished_ = false;
};

}  // namespace rondo::launch
