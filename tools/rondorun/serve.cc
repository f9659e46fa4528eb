#include "tools/rondorun/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>

#include "tools/rondorun/children.h"
#include "tools/rondorun/launch_error.h"
#include "tools/rondorun/local_node.h"
#include "tools/rondorun/message.h"
#include "tools/rondorun/writer.h"

namespace rondo::launch {
namespace {

class Server : public NodeEvents {
 public:
  Server(const BlockedSignals& signals, const UniqueFd& lifeline);
  ~Server() override {
    loop_.forget(STDIN_FILENO);
    loop_.forget(lifeline_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void run();

  void ready(int node, const std::string& host, std::uint16_t port) override;
  void started(int rank, pid_t process) override;
  void output(int rank, Stream stream, std::string_view bytes) override;
  void ended(int rank, Ending ending) override;
  void refused(int node, int status, const std::string& reason) override;
  void finished(int node) override;
  void lost(int, const std::string&) override {}
  bool congested() const override { return answers_.congested(); }

 private:
  void read_orders();
  void obey(const Message& message);
  void start();
  void on_signal(int number);
  void abandon();
  void send(const Message& message) { answers_.write(encode(message)); }

  int lifeline_;
  EventLoop loop_;
  Children children_;
  Writer answers_;
  SignalSource signal_source_;
  LocalNode node_;
  MessageReader reader_;
  NodePlan plan_{};
  bool started_ = false;
  bool finished_ = false;
  bool abandoned_ = false;
};

Server::Server(const BlockedSignals& signals, const UniqueFd& lifeline)
    : lifeline_(lifeline.get()),
      answers_(loop_, STDOUT_FILENO, [this](int) { abandon(); }),
      signal_source_(loop_, signals, [this](int number) { on_signal(number); }),
      node_(loop_, children_, *this, Handover{}, signals.before()) {
  loop_.watch(STDIN_FILENO, POLLIN, [this] { read_orders(); });
  loop_.watch(lifeline_, POLLIN, [this] { abandon(); });
  reader_.add(greeting);  // only answers begin with one
}

void Server::run() {
  answers_.write(greeting);
  loop_.run();
}

void Server::read_orders() {
  std::array<char, std::size_t{1} << 16> buffer;
  const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return abandon();
  reader_.add({buffer.data(), static_cast<std::size_t>(count)});
  while (const auto message = reader_.next()) obey(*message);
}

void Server::obey(const Message& message) {
  if (apply(message, plan_)) return;
  switch (message.kind) {
    case MessageKind::prepare:
      return node_.prepare(message.first != 0);
    case MessageKind::start:
      return start();
    case MessageKind::signal:
      return node_.signal(message.first);
    case MessageKind::terminate:
      return node_.terminate();
    case MessageKind::kill:
      return started_ ? node_.kill() : finished(plan_.node);
    default:
      throw LaunchError(status_failure, "unexpected message");
  }
}

void Server::start() {
  started_ = true;
  try {
    node_.start(plan_);
  } catch (const LaunchError& error) {
    refused(plan_.node, error.status(), error.what());
    node_.kill();
  }
}

void Server::on_signal(int number) {
  if (number == SIGCHLD) return children_.reap();
  if (asks_to_end(number)) abandon();
}

void Server::abandon() {
  loop_.forget(STDIN_FILENO);
  loop_.forget(lifeline_);
  abandoned_ = true;
  if (finished_ || !started_) return loop_.stop();
  node_.kill();
}

void Server::ready(int, const std::string& host, std::uint16_t port) {
  send({MessageKind::ready, port, 0, host});
}

void Server::started(int rank, pid_t process) {
  send({MessageKind::started, rank, static_cast<int>(process), {}});
}

void Server::output(int rank, Stream stream, std::string_view bytes) {
  send({MessageKind::output, rank, static_cast<int>(stream), std::string(bytes)});
}

void Server::ended(int rank, Ending ending) {
  send({MessageKind::ended, rank, ending.wait_status(), {}});
}

void Server::refused(int, int status, const std::string& reason) {
  send({MessageKind::refused, status, 0, reason});
}

void Server::finished(int) {
  finished_ = true;
  send({MessageKind::finished, 0, 0, {}});
  // Otherwise the other side closes its end when it has read everything.
  if (abandoned_) loop_.stop();
}

}  // namespace

int serve(const BlockedSignals& signals, const UniqueFd& lifeline) {
  Server(signals, lifeline).run();
  return 0;
}

}  // namespace rondo::launch
