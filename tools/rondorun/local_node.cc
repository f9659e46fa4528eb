#include "tools/rondorun/local_node.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/swap.h"

namespace rondo::launch {
namespace {

/// Descriptors that starting a rank takes for a moment.
constexpr std::uint64_t spare = 16;
constexpr std::size_t read_bytes = std::size_t{1} << 16;
/// Processes that were forked while others were being killed are found by looking again.
constexpr std::chrono::milliseconds kill_interval{20};

}  // namespace

LocalNode::LocalNode(EventLoop& loop, Children& children, NodeEvents& events, Handover handover,
                     const sigset_t& rank_signals)
    : loop_(loop),
      children_(children),
      events_(events),
      handover_(handover),
      rank_signals_(rank_signals) {}

void LocalNode::prepare(bool choose_port) {
  if (choose_port) port_.emplace();
  events_.ready(plan_.node, this_machine(), port_ ? port_->port() : std::uint16_t{0});
}

void LocalNode::start(const NodePlan& plan) {
  plan_ = plan;
  nccl_ = preloaded_nccl(plan_.variables);
  children_.when_none_left([this] { none_left(); });
  if (plan_.bind_to_core && plan_.ranks > usable_cores())
    throw LaunchError(status_usage, "--bind core: " + std::to_string(plan_.ranks) + " ranks, but " +
                                        std::to_string(usable_cores()) + " usable cores on " +
                                        this_machine());
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  require_descriptors(null.get());
  require_library();
  const auto inherited = own_environment();
  for (int local_rank = 0; local_rank < plan_.ranks; ++local_rank)
    start_rank(local_rank, inherited, null.get());
}

/// Without this check the loader would print a line and go on without the library.
void LocalNode::require_library() const {
  if (nccl_.empty() || ::access(nccl_.c_str(), R_OK) == 0) return;
  throw LaunchError(status_failure, "--nccl: there is no " + nccl_ + " on " + this_machine() +
                                        "; install rondo there at the same path");
}

/// Without this check, ranks would start one by one and then end when descriptors run out.
/// Descriptors in use have numbers up to `newest`.
void LocalNode::require_descriptors(int newest) const {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::uint64_t each = (handover_.output ? 0 : 1) + (handover_.error ? 0 : 1);
  const std::uint64_t needed =
      each * static_cast<std::uint64_t>(plan_.ranks) + static_cast<std::uint64_t>(newest) + spare;
  if (needed <= limit.rlim_cur) return;
  throw LaunchError(status_usage, std::to_string(plan_.ranks) + " ranks on " + this_machine() +
                                      " need " + std::to_string(needed) +
                                      " file descriptors for their output, but the limit is " +
                                      std::to_string(limit.rlim_cur) +
                                      "; start fewer ranks or raise it (ulimit -n)");
}

void LocalNode::start_rank(int local_rank, const std::vector<std::string>& inherited, int null) {
  const int rank = plan_.first_rank + local_rank;
  const UniqueFd output = connect(rank, Stream::output, handover_.output);
  const UniqueFd error = connect(rank, Stream::error, handover_.error);
  Spawn request;
  request.command = plan_.command;
  request.environment = rank_environment(plan_, local_rank, inherited);
  request.directory = plan_.directory;
  request.input = rank == 0 && handover_.input ? -1 : null;
  request.output = output.get();
  request.error = error.get();
  if (plan_.bind_to_core) request.core = local_rank;
  request.blocked_signals = rank_signals_;
  const pid_t process = spawn(request);
  running_[rank] = process;
  children_.add(process, [this, rank](Ending ending) { rank_ended(rank, ending); });
  events_.started(rank, process);
}

UniqueFd LocalNode::connect(int rank, Stream stream, bool handed_over) {
  if (handed_over) return {};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe");
  UniqueFd writing(ends[1]);
  const Source source{rank, stream};
  streams_[source] = UniqueFd(ends[0]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // this end only: a pipe's ends have flags of their own
  loop_.watch(
      ends[0], POLLIN, [this, source] { read(source); }, [this] { return !events_.congested(); });
  return writing;
}

void LocalNode::read(Source source) {
  std::array<char, read_bytes> buffer;
  const int fd = streams_.at(source).get();
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    events_.output(source.first, source.second, {buffer.data(), static_cast<std::size_t>(count)});
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.forget(fd);
    streams_.erase(source);
  }
}

void LocalNode::drain(Source source) {
  // Reads no more than a pipe can hold: a process that the rank left behind may go on writing.
  for (std::size_t read_so_far = 0; read_so_far < (std::size_t{1} << 20);
       read_so_far += read_bytes) {
    if (!streams_.contains(source)) return;
    pollfd descriptor{streams_.at(source).get(), POLLIN, 0};
    if (::poll(&descriptor, 1, 0) <= 0) return;
    read(source);
  }
}

void LocalNode::rank_ended(int rank, Ending ending) {
  running_.erase(rank);
  drain({rank, Stream::output});
  drain({rank, Stream::error});
  events_.ended(rank, ending);
}

void LocalNode::signal(int number) {
  for (const auto& [rank, process] : running_) ::kill(-process, number);
}

void LocalNode::terminate() { signal_all(descendants(), SIGTERM); }

void LocalNode::kill() {
  if (!std::exchange(killing_, true)) kill_again();
}

void LocalNode::kill_again() {
  if (finished_) return;
  const auto processes = descendants();
  signal_all(processes, SIGKILL);
  loop_.after(kill_interval, [this] {
    kill_again();
    children_.reap();
  });
}

void LocalNode::none_left() {
  if (std::exchange(finished_, true)) return;
  std::vector<Source> open;
  for (const auto& [source, fd] : streams_) open.push_back(source);
  for (const Source& source : open) drain(source);
  events_.finished(plan_.node);
}

}  // namespace rondo::launch
