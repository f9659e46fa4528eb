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

/// A running command with its output. Throws std::runtime_error when patience ends, with all output
/// so far in the text. Killed, with all that carry its mark, at the latest on destruction.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return process_; }
  void signal(int number) const;
  /// To the terminal's keyboard.
  void type(const std::string& text) const;

  /// Until standard output holds `text` so often.
  void wait_for(const std::string& text, int times = 1);
  void wait_until(const std::function<bool()>& condition, const std::string& what);
  /// Until the command has ended and closed its output: the exit status, 128 + s after signal s.
  int wait();
  /// How long was waited for it so far, but for the moments in which the machine stood still: what
  /// passes between two looks, a few milliseconds else, counts for 100 ms at most.
  std::chrono::milliseconds waited() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(waited_);
  }
  /// Until the command has stopped because of a signal.
  void wait_stopped();
  /// No longer reads standard output.
  void stop_reading() { output_fd_.reset(); }

  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }
  /// Whatever could still say something has ended.
  bool is_silent() const { return !output_fd_ && !error_fd_; }

  /// Process of a rank that said "up RANK PID".
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
/// What a command said to standard error, but for the ranks' notes of whom a call waits for: where
/// the machine is busy that is nobody's fault.
std::string trouble(const std::string& error);

/// Runs to the end; nothing of it lives afterwards.
Result finish(const Command& command);

/// Whether one of three tries took less than 5 s, how soon a job ends once a rank was killed: the
/// machine may have been busy in the first ones. Each try says how long that end took.
bool one_in_time(const std::function<std::chrono::milliseconds()>& attempt);

}  // namespace rondo::test
