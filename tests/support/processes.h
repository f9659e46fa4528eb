// Ranks as child processes, for tests that kill, stop and starve them. They use fork(), so the
// parent must have no other thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo::test {

/// A pipe. A parent makes it before the children that share it.
struct Pipe {
  Pipe();
  /// Throws where nobody can read it.
  void write(const std::string& text) const;
  /// What comes next, at most 4096 bytes. Throws where nobody can write it any more.
  std::string read() const;

  UniqueFd from{};
  UniqueFd to{};
};

/// A pipe that the parent and its later children share, to let children go on.
class Gate {
 public:
  void open(int children) const;
  void pass() const;

 private:
  Pipe pipe_{};
};

/// A forked child that runs `body` and reports what it returns, or the error it throws, by a pipe.
class Child {
 public:
  /// What goes into the pipe before the report.
  enum class Also { nothing, standard_error };
  explicit Child(const std::function<std::string()>& body, Also also = Also::nothing);
  /// Kills it when it still runs.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  void signal(int number) const;
  /// Ends it, and returns when it is gone.
  void kill();
  /// What it reported, once it has: "" when it died first. A status that is not 0, as where a
  /// sanitizer found something, is part of it. With its standard error, all until it has ended.
  /// Throws after two minutes without a word.
  std::string report();
  /// As waitpid() says; call it after report().
  int status() const { return status_; }
  /// Returns once SIGSTOP has taken effect.
  void wait_until_stopped() const;
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  Also also_;
  Pipe pipe_{};
};

/// A child for each of `ranks` ranks.
std::vector<Child> start_ranks(int ranks, const std::function<std::string(int rank)>& body);
/// The same, and returns their reports.
std::vector<std::string> run_ranks(int ranks, const std::function<std::string(int rank)>& body);

}  // namespace rondo::test
