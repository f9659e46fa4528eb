// Ranks on another machine, run there by a rondorun that this one starts over ssh.
#pragma once

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "tools/rondorun/children.h"
#include "tools/rondorun/event_loop.h"
#include "tools/rondorun/hosts.h"
#include "tools/rondorun/message.h"
#include "tools/rondorun/node.h"
#include "tools/rondorun/writer.h"

namespace rondo::launch {

/// The command that starts a serving rondorun on `host`: `ssh` is split at blanks (quotes keep
/// words together), `path` is rondorun there. This machine itself is reached without ssh.
std::vector<std::string> remote_command(const Host& host, const std::string& ssh,
                                        const std::string& path);

/// The connection is the leash: when it breaks, for whatever reason, the remote side ends its
/// ranks.
class RemoteNode : public Node {
 public:
  RemoteNode(EventLoop& loop, Children& children, NodeEvents& events, int node, std::string host,
             std::vector<std::string> command, const sigset_t& signals);
  ~RemoteNode() override;
  RemoteNode(const RemoteNode&) = delete;
  RemoteNode& operator=(const RemoteNode&) = delete;

  void prepare(bool choose_port) override;
  void start(const NodePlan& plan) override;
  void signal(int number) override { send({MessageKind::signal, number, 0, {}}); }
  void terminate() override { send({MessageKind::terminate, 0, 0, {}}); }
  void kill() override;

 private:
  void connect();
  void send(const Message& message);
  void read();
  void handle_messages();
  void check(const Message& message) const;
  void handle(const Message& message);
  void connection_ended(Ending ending);
  void close_connection(const std::string& reason);
  void drain();

  EventLoop& loop_;
  Children& children_;
  NodeEvents& events_;
  int node_;
  int first_rank_ = 0;  ///< of those that run there
  int ranks_ = 0;
  std::string host_;
  std::vector<std::string> command_;
  sigset_t signals_;
  pid_t process_ = -1;  ///< ssh; -1 before and after it runs
  std::unique_ptr<Writer> to_remote_;
  UniqueFd from_remote_;
  MessageReader reader_;
  EventLoop::Timer silence_ = 0;  ///< runs until the remote side is ready
  std::string trouble_;           ///< why this side gave the connection up
  bool finished_ = false;
  bool over_ = false;  ///< finished() or lost() has been reported
};

}  // namespace rondo::launch
