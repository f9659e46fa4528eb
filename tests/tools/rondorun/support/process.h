// Runs a command as a user would, and looks for what it leaves behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo::test {

/// Everything waited for in these tests comes within it, or the test fails.
inline constexpr std::chrono::seconds patience{120};

struct Command {
  std::vector<std::string> words{};
  std::vector<std::string> environment{};  ///< "NAME=VALUE", added to this process's
};

/// A running command with its output. Throws std::runtime_error when `patience` is over, with all
/// output so far in the text. The destructor kills it, with all processes that carry its mark.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until standard output holds `text`.
  void wait_for(const std::string& text);
  void wait_until(const std::function<bool()>& condition, const std::string& what);
  /// Waits until the command has ended and closed its output. Returns the exit status, which is
  /// 128 + s after signal s.
  int wait();

  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }

  /// Living processes of this command, found by a variable that all of them inherit.
  std::vector<pid_t> living() const;
  void wait_none_living();

 private:
  [[noreturn]] void become(const Command& command) const;
  /// Takes what output there is, waiting up to a few milliseconds for some.
  void pump();
  void take(UniqueFd& fd, std::string& text);

  std::string mark_;
  pid_t process_ = -1;
  UniqueFd output_fd_;
  UniqueFd error_fd_;
  std::string output_;
  std::string error_;
};

/// A folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

std::string rondorun();

struct Result {
  int status = 0;
  std::string output{};
  std::string error{};
};
/// What a command said on standard error, without the ranks' notes of whom a call waits for. On a
/// busy machine these are nobody's fault.
std::string trouble(const std::string& error);

/// Runs the command to its end. No process of it lives afterwards.
Result finish(const Command& command);

}  // namespace rondo::test
