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
  std::string input{};
  std::string directory{};  ///< empty: this process's
  bool terminal = false;    ///< in, out and error are one terminal of its own
};

/// A running command with its output. Throws std::runtime_error when `patience` is over, with all
/// output so far in the text. The destructor kills it, with all processes that carry its mark.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return process_; }
  void signal(int number) const;
  /// Types the text on the terminal's keyboard.
  void type(const std::string& text) const;

  /// Waits until standard output holds `text` so often.
  void wait_for(const std::string& text, int times = 1);
  void wait_until(const std::function<bool()>& condition, const std::string& what);
  /// Waits until the command has ended and closed its output. Returns the exit status, which is
  /// 128 + s after signal s.
  int wait();
  /// How long the test has waited for the command, without the moments in which the machine stood
  /// still. The time between two looks, usually a few milliseconds, counts as 100 ms at most.
  std::chrono::milliseconds waited() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(waited_);
  }
  /// Waits until the command has stopped because of a signal.
  void wait_stopped();
  /// From now on standard output is not read.
  void stop_reading() { output_fd_.reset(); }

  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }
  /// True when all processes that could still write something have ended.
  bool is_silent() const { return !output_fd_ && !error_fd_; }

  /// The process of a rank that said "up RANK PID".
  pid_t rank(int rank) const;
  /// Living processes of this command, found by a variable that all of them inherit.
  std::vector<pid_t> living() const;
  void wait_none_living();
  /// "RONDORUN_TEST_MARK=..." of this command.
  const std::string& mark() const { return mark_; }

 private:
  void start(const Command& command);
  void start_on_terminal(const Command& command);
  [[noreturn]] void become(const Command& command) const;
  /// Takes what output there is, waiting up to a few milliseconds for some.
  void pump();
  void take(UniqueFd& fd, std::string& text);

  std::string mark_;
  pid_t process_ = -1;
  UniqueFd output_fd_;
  UniqueFd error_fd_;
  std::chrono::steady_clock::duration waited_{};
  std::string output_;
  std::string error_;
};

/// Processes with this "NAME=VALUE" in their environment, zombies excepted.
std::vector<pid_t> processes_with(const std::string& variable);

/// A folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Names in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// Paths of the programs under test.
std::string rondorun();
std::string rank_program();

/// rondorun with these options, then the rank program with its arguments.
Command job(const std::vector<std::string>& options, const std::vector<std::string>& behaviour);

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

/// Whether one of three tries took less than 5 s, in which a job must end once a rank was killed.
/// The machine may have been busy in the first tries. Each try says how long that end took.
bool one_in_time(const std::function<std::chrono::milliseconds()>& attempt);

}  // namespace rondo::test
