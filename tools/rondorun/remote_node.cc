#include "tools/rondorun/remote_node.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

/// Longest time from starting ssh to the greeting of the remote rondorun.
constexpr std::chrono::seconds connect_deadline{60};
/// Longest wait for an answer after asking the remote side to kill everything.
constexpr std::chrono::milliseconds kill_deadline{1000};
/// Errors repeat what a login shell printed before the greeting, up to this length.
constexpr std::size_t longest_repeated = 300;

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && (c == ' ' || c == '\t')) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0 || words.empty())
    throw LaunchError(status_usage, "--ssh: '" + text + "' is not a command");
  return words;
}

/// The remote login shell takes the command apart again. Plain words stay plain, for commands other
/// than ssh that do not go through a shell.
std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=:,@%~").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// rondorun cannot answer questions of ssh, and must notice a dead network. Options from the user
/// come before these, and ssh takes the first.
void add_ssh_options(std::vector<std::string>& words) {
  const std::string& program = words.front();
  if (program.substr(program.rfind('/') + 1) != "ssh") return;
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=10"})
    words.insert(words.end(), {"-o", option});
}

}  // namespace

std::vector<std::string> remote_command(const Host& host, const std::string& ssh,
                                        const std::string& path) {
  if (is_this_machine(host)) return {path, "--serve"};
  std::vector<std::string> words = split_words(ssh);
  add_ssh_options(words);
  const std::string name = host.name.find('[') == std::string::npos ? host.name : address_of(host);
  words.insert(words.end(), {name, shell_quoted(path), "--serve"});
  return words;
}

RemoteNode::RemoteNode(EventLoop& loop, Children& children, NodeEvents& events, int node,
                       std::string host, std::vector<std::string> command, const sigset_t& signals)
    : loop_(loop),
      children_(children),
      events_(events),
      node_(node),
      host_(std::move(host)),
      command_(std::move(command)),
      signals_(signals) {}

RemoteNode::~RemoteNode() {
  if (from_remote_) loop_.forget(from_remote_.get());
}

void RemoteNode::prepare(bool choose_port) {
  connect();
  send({MessageKind::prepare, choose_port ? 1 : 0, 0, {}});
  silence_ = loop_.after(connect_deadline, [this] {
    close_connection("no answer within " + std::to_string(connect_deadline.count()) + " s");
  });
}

void RemoteNode::connect() {
  int down[2];
  int up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) throw system_error("pipe");
  const UniqueFd input(down[0]);
  const UniqueFd sending(down[1]);
  if (::pipe2(up, O_CLOEXEC) != 0) throw system_error("pipe");
  from_remote_ = UniqueFd(up[0]);
  const UniqueFd output(up[1]);
  ::fcntl(up[0], F_SETFL, O_NONBLOCK);
  Spawn request;
  request.command = command_;
  request.environment = own_environment();
  request.input = input.get();
  request.output = output.get();
  request.blocked_signals = signals_;
  process_ = spawn(request);
  children_.add(process_, [this](Ending ending) { connection_ended(ending); });
  to_remote_ = std::make_unique<Writer>(loop_, sending.get());
  loop_.watch(
      up[0], POLLIN, [this] { read(); }, [this] { return !events_.congested(); });
}

void RemoteNode::start(const NodePlan& plan) {
  first_rank_ = plan.first_rank;
  ranks_ = plan.ranks;
  if (to_remote_) to_remote_->write(encode(plan));
  send({MessageKind::start, 0, 0, {}});
}

void RemoteNode::send(const Message& message) {
  if (to_remote_) to_remote_->write(encode(message));
}

void RemoteNode::kill() {
  send({MessageKind::kill, 0, 0, {}});
  loop_.after(kill_deadline, [this] { close_connection("no answer to the request to end"); });
}

void RemoteNode::read() {
  std::array<char, std::size_t{1} << 16> buffer;
  const ssize_t count = ::read(from_remote_.get(), buffer.data(), buffer.size());
  if (count > 0) {
    reader_.add({buffer.data(), static_cast<std::size_t>(count)});
    handle_messages();
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.forget(from_remote_.get());
    from_remote_.reset();
  }
}

void RemoteNode::handle_messages() {
  try {
    while (const auto message = reader_.next()) handle(*message);
  } catch (const LaunchError& error) {
    close_connection(error.what());
  }
}

/// What the other side says is about ranks of its own, and ports that there can be.
void RemoteNode::check(const Message& message) const {
  using enum MessageKind;
  const bool of_rank = message.kind == started || message.kind == output || message.kind == ended;
  const bool is_own = message.first >= first_rank_ && message.first < first_rank_ + ranks_;
  if ((of_rank && !is_own) ||
      (message.kind == ready && (message.first < 0 || message.first > 65535)) ||
      (message.kind == output && message.second != 0 && message.second != 1))
    throw LaunchError(status_failure, "its rondorun tells of a rank or port that it does not have");
}

void RemoteNode::handle(const Message& message) {
  check(message);
  switch (message.kind) {
    case MessageKind::ready:
      loop_.cancel(silence_);
      return events_.ready(node_, message.body, static_cast<std::uint16_t>(message.first));
    case MessageKind::started:
      return events_.started(message.first, message.second);
    case MessageKind::output:
      return events_.output(message.first, static_cast<Stream>(message.second), message.body);
    case MessageKind::ended:
      return events_.ended(message.first, Ending(message.second));
    case MessageKind::refused:
      return events_.refused(node_, message.first, message.body);
    case MessageKind::finished:
      finished_ = true;
      to_remote_.reset();  // the end of file lets the remote side go
      return;
    default:
      throw LaunchError(status_failure, "unexpected message");
  }
}

void RemoteNode::close_connection(const std::string& reason) {
  if (process_ < 0) return;
  if (trouble_.empty()) trouble_ = reason;
  ::kill(-process_, SIGKILL);
}

void RemoteNode::connection_ended(Ending ending) {
  process_ = -1;
  loop_.cancel(silence_);
  drain();
  to_remote_.reset();
  if (std::exchange(over_, true)) return;
  if (finished_) return events_.finished(node_);
  std::string reason = trouble_;
  if (reason.empty()) reason = "'" + command_.front() + "' " + ending.text();
  const std::string noise = reader_.noise();
  if (!noise.empty()) reason += " after it printed: " + noise.substr(0, longest_repeated);
  events_.lost(node_, reason);
}

void RemoteNode::drain() {
  while (from_remote_) {
    pollfd descriptor{from_remote_.get(), POLLIN, 0};
    if (::poll(&descriptor, 1, 0) <= 0) return;
    read();
  }
}

}  // namespace rondo::launch
