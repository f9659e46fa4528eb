// Ranks as child processes, for tests that kill, stop and starve them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"
#include "tests/ports.h"

namespace rondo {

/// A forked child that runs `body` and reports what it returns, or the error it throws, by a pipe.
/// The parent must have no threads when it forks.
class Child {
 public:
  explicit Child(const std::function<std::string()>& body);
  /// Kills it when it still runs.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  void signal(int number) const;
  /// What it reported, once it has; throws after a minute. "" when it died first.
  std::string report();
  /// Returns once SIGSTOP has taken effect.
  void wait_until_stopped() const;
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  bool reaped_ = false;
  UniqueFd pipe_;
};

/// Runs a rank's body on each of `ranks` children and returns their reports.
std::vector<std::string> run_ranks(int ranks, const std::function<std::string(int rank)>& body);

/// True when `part` is in `text`; shows the text when a check on it fails.
bool says(const std::string& text, const std::string& part);

/// A pipe that the parent and its later children share, to let children go on.
class Gate {
 public:
  Gate();
  void open(int children) const;
  void pass() const;

 private:
  UniqueFd read_end_;
  UniqueFd write_end_;
};

/// True once `condition` holds; polls for at most `seconds`.
bool eventually(const std::function<bool()>& condition, double seconds = 30);

}  // namespace rondo
