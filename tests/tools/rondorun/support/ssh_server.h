// A real sshd for one test run: own port, own keys, own configuration.
#pragma once

#include <memory>
#include <string>

#include "tests/tools/rondorun/support/process.h"

namespace rondo::test {

class SshServer {
 public:
  /// Throws std::runtime_error with sshd's and ssh's words when no login can be made to work.
  SshServer();
  ~SshServer() = default;
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;

  /// The command for --ssh, which logs this user in on 127.0.0.1 without a question.
  const std::string& command() const { return command_; }
  /// The same with a key that the server does not know.
  const std::string& wrong_command() const { return wrong_command_; }
  /// Processes of logins, rondorun's remote side among them, found by a variable that sshd sets.
  std::vector<pid_t> living() const { return processes_with(mark_); }

  /// Whether sshd and ssh are installed.
  static bool available();

 private:
  void make_keys() const;
  /// True when a login works with this setting of UsePAM: it depends on how the account is set up.
  bool start(const std::string& use_pam);
  std::string client(int port, const std::string& key) const;

  TemporaryFolder folder_;
  std::string mark_;
  std::string command_;
  std::string wrong_command_;
  std::string complaint_;
  std::unique_ptr<Process> server_;
};

}  // namespace rondo::test
