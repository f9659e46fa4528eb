#include "tools/rondorun/job.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/local_node.h"
#include "tools/rondorun/remote_node.h"

namespace rondo::launch {
namespace {

/// Failures this close together count as one. A killed rank among them is the cause, because the
/// others may have failed when it vanished.
constexpr std::chrono::milliseconds announce_delay{100};
/// The time in which ranks can report a lost peer.
constexpr std::chrono::milliseconds settle_time{1000};
/// The time between looks whether all output has been taken.
constexpr std::chrono::milliseconds drain_interval{10};

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

std::string count_text(int ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank is" : " ranks are");
}

}  // namespace

Job::Job(const Options& options, const BlockedSignals& signals, const UniqueFd& lifeline)
    : rank_signals_(signals.before()),
      lifeline_(lifeline.get()),
      grace_(options.grace),
      elastic_(options.elastic),
      output_(loop_, {options.prefix, options.output_directory},
              [this](int error) { output_broke(error); }),
      signal_source_(loop_, signals, [this](int number) { on_signal(number); }) {
  loop_.watch(lifeline_, POLLIN, [this] {
    loop_.forget(lifeline_);
    kill_all();
  });
  if (options.hosts.empty()) {
    make_local_node(options);
  } else {
    make_remote_nodes(options);
  }
}

void Job::make_local_node(const Options& options) {
  const Handover handover{::isatty(STDIN_FILENO) == 0, output_.handed_over(Stream::output),
                          output_.handed_over(Stream::error)};
  NodeState& state = nodes_.emplace_back();
  state.plan = local_plan(options);
  if (const auto secret = secret_for(options, own_environment()))
    state.plan.variables.push_back(*secret);
  state.node = std::make_unique<LocalNode>(loop_, children_, *this, handover, rank_signals_);
}

void Job::make_remote_nodes(const Options& options) {
  auto plans = host_plans(options, own_environment(), std::filesystem::current_path());
  if (const auto secret = secret_for(options, own_environment()))
    for (NodePlan& plan : plans)  // a host's own file would not be the other hosts'
      plan.variables.insert(plan.variables.end(), {*secret, "RONDO_SECRET_FILE="});
  const std::string path = options.remote_path.empty() ? own_path() : options.remote_path;
  for (const NodePlan& plan : plans) {
    const Host& host = options.hosts[static_cast<std::size_t>(plan.node)];
    NodeState& state = nodes_.emplace_back();
    state.plan = plan;
    state.host = host.name;
    state.node =
        std::make_unique<RemoteNode>(loop_, children_, *this, plan.node, host.name,
                                     remote_command(host, options.ssh, path), rank_signals_);
  }
}

int Job::run() {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const bool choose_port = nodes_[node].plan.node == 0 && nodes_[node].plan.master_port == 0;
    nodes_[node].node->prepare(choose_port);
  }
  loop_.run();
  return status_at_end();
}

int Job::status_at_end() const {
  if (status_) return *status_;
  const bool one_succeeded = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second.ending && entry.second.ending->success();
  });
  if (failures_.ranks.empty() || (elastic_ && one_succeeded)) return 0;
  if (interruption_ != 0) return status_signal_base + interruption_;
  return elastic_ ? ranks_.at(failures_.ranks.front()).ending->exit_status() : 0;
}

void Job::ready(int node, const std::string& host, std::uint16_t port) {
  NodeState& state = nodes_.size() == 1 ? nodes_.front() : nodes_[static_cast<std::size_t>(node)];
  state.ready = true;
  if (state.host.empty()) state.host = host;  // else it has the name that the user gave
  if (port != 0)
    for (NodeState& other : nodes_) other.plan.master_port = port;
  if (std::all_of(nodes_.begin(), nodes_.end(), [](const NodeState& one) { return one.ready; }))
    start_nodes();
}

void Job::start_nodes() {
  if (ending_) return;
  for (NodeState& state : nodes_)
    for (int rank = 0; rank < state.plan.ranks; ++rank) ranks_[state.plan.first_rank + rank];
  for (NodeState& state : nodes_)
    if (!ending_) start_node(state);
}

void Job::start_node(NodeState& state) {
  try {
    state.node->start(state.plan);
  } catch (const LaunchError& error) {
    fail(error.status(), error.what());
  }
}

void Job::started(int rank, pid_t process) { ranks_[rank].process = process; }

void Job::output(int rank, Stream stream, std::string_view bytes) {
  output_.add(rank, stream, bytes);
}

void Job::ended(int rank, Ending ending) {
  output_.end(rank);
  ranks_[rank].ending = ending;
  if (!ending.success()) note_failure(rank);
  check_all_ended();
}

void Job::note_failure(int rank) {
  std::vector<int>& ranks = failures_.ranks;
  ranks.push_back(rank);
  if (ending_ || ranks.size() > failures_.named + 1) return;
  loop_.after(announce_delay, [this] { announce(); });
  if (elastic_) return;
  loop_.after(settle_time, [this] {
    if (!killing_) terminate_all();
  });
}

void Job::announce() {
  if (interruption_ != 0 || status_ || failures_.ranks.empty()) return;
  if (elastic_) return name_new_failures();
  const int rank = bring_cause_forward();
  status_ = ranks_[rank].ending->exit_status();
  output_.say(name_of(rank) + " " + ranks_[rank].ending->text() +
              (running() > 0 ? "; ending the others" : ""));
}

/// Of the failures that have not been named. A killed rank goes to the front; the rest stays in
/// order.
int Job::bring_cause_forward() {
  const auto first = failures_.ranks.begin() + static_cast<std::ptrdiff_t>(failures_.named);
  const auto killed = std::find_if(first, failures_.ranks.end(),
                                   [this](int rank) { return ranks_[rank].ending->killed(); });
  if (killed != failures_.ranks.end()) std::rotate(first, killed, killed + 1);
  return *first;
}

void Job::name_new_failures() {
  if (failures_.named == failures_.ranks.size()) return;
  bring_cause_forward();
  const std::string rest = running() > 0 ? "; " + count_text(running()) + " left" : "";
  for (; failures_.named < failures_.ranks.size(); ++failures_.named) {
    const int rank = failures_.ranks[failures_.named];
    output_.say(name_of(rank) + " " + ranks_[rank].ending->text() + rest);
  }
}

int Job::running() const {
  return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(),
                                        [](const auto& entry) { return !entry.second.ending; }));
}

/// Reports ranks that failed after the first one, grouped by how they ended.
void Job::report_followers() {
  if (!status_) return;
  std::map<std::string, std::vector<int>> by_text;
  for (std::size_t i = 1; i < failures_.ranks.size(); ++i)
    by_text[ranks_[failures_.ranks[i]].ending->text()].push_back(failures_.ranks[i]);
  for (auto& [text, ranks] : by_text) {
    std::ranges::sort(ranks);
    const bool were = ranks.size() > 1 && text.starts_with("was ");
    output_.say("after that " + list(ranks) + " " + (were ? "were" + text.substr(3) : text));
  }
}

void Job::fail(int status, const std::string& text) {
  if (!status_ && !ending_) {
    status_ = status;
    output_.say(text);
  }
  kill_all();
}

void Job::refused(int node, int status, const std::string& reason) {
  fail(status, "host " + nodes_[static_cast<std::size_t>(node)].host + ": " + reason);
}

void Job::lost(int node, const std::string& reason) {
  NodeState& state = nodes_[static_cast<std::size_t>(node)];
  state.over = true;
  const std::string what =
      state.ready ? "lost host " + state.host + ": " : "cannot reach host " + state.host + ": ";
  const std::string remedy =
      state.ready ? "" : " (does \"ssh " + state.host + " true\" work without asking a question?)";
  if (elastic_ && state.ready && !ranks_.empty()) {
    lose_ranks(state, what + reason);
    check_all_ended();
  } else if (ranks_.empty()) {
    fail(status_failure, what + reason + remedy);
  } else {  // also while all end: something may run on there
    output_.say(what + reason);
    if (!status_ && !ending_) status_ = status_failure;
    // The other ranks have the time to report what they saw of it.
    loop_.after(settle_time, [this] {
      if (!killing_) terminate_all();
    });
  }
  check_over();
}

/// Its processes end by themselves, but how is not told any more.
void Job::lose_ranks(const NodeState& state, const std::string& what) {
  announce();  // failures before
  std::vector<int> lost;
  for (auto& [rank, of_rank] : ranks_) {
    if (of_rank.ending || &node_of(rank) != &state) continue;
    of_rank.ending = Ending(W_EXITCODE(status_failure, 0));
    output_.end(rank);
    lost.push_back(rank);
  }
  failures_.ranks.insert(failures_.ranks.end(), lost.begin(), lost.end());
  failures_.named = failures_.ranks.size();
  if (ending_ || lost.empty()) return;
  output_.say(what + ", and " + list(lost) + " with it" +
              (running() > 0 ? "; " + count_text(running()) + " left" : ""));
}

void Job::finished(int node) {
  NodeState& state = nodes_.size() == 1 ? nodes_.front() : nodes_[static_cast<std::size_t>(node)];
  state.over = true;
  check_over();
}

void Job::terminate_all() {
  if (!std::exchange(ending_, true)) {
    announce();
    report_followers();
  }
  for (NodeState& state : nodes_) state.node->terminate();
  kill_after_grace();
}

void Job::kill_after_grace() {
  loop_.after(grace_, [this] { kill_all(); });
}

void Job::kill_all() {
  ending_ = true;
  if (std::exchange(killing_, true)) return;
  for (NodeState& state : nodes_)
    if (!state.over) state.node->kill();
}

void Job::check_all_ended() {
  const bool all = std::all_of(ranks_.begin(), ranks_.end(),
                               [](const auto& entry) { return entry.second.ending.has_value(); });
  // Processes that ranks left are ended too, and get the same grace time.
  if (all && !killing_) terminate_all();
}

void Job::check_over() {
  const bool all =
      std::all_of(nodes_.begin(), nodes_.end(), [](const NodeState& one) { return one.over; });
  if (!all) return;
  if (output_.idle()) return loop_.stop();
  loop_.after(drain_interval, [this] { check_over(); });
}

void Job::on_signal(int number) {
  if (number == SIGCHLD) return children_.reap();
  if (asks_to_end(number)) return interrupt(number);
  for (NodeState& state : nodes_) state.node->signal(number);
}

void Job::interrupt(int number) {
  const bool over =
      std::all_of(nodes_.begin(), nodes_.end(), [](const NodeState& one) { return one.over; });
  if (over) return loop_.stop();  // only output is left, and no reader takes it
  if (interruption_ != 0 || ranks_.empty()) {
    if (!status_) status_ = status_signal_base + number;
    return kill_all();
  }
  interruption_ = number;
  ending_ = true;
  for (NodeState& state : nodes_) state.node->signal(number);
  kill_after_grace();
}

void Job::output_broke(int error) {
  if (error != EPIPE) output_.say(std::string("cannot write the output: ") + std::strerror(error));
  if (interruption_ == 0) interrupt(SIGPIPE);
}

Job::NodeState& Job::node_of(int rank) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [rank](const NodeState& state) {
    return rank >= state.plan.first_rank && rank < state.plan.first_rank + state.plan.ranks;
  });
  return *found;
}

std::string Job::name_of(int rank) {
  return "rank " + std::to_string(rank) + " (pid " + std::to_string(ranks_[rank].process) +
         ", host " + node_of(rank).host + ")";
}

}  // namespace rondo::launch
