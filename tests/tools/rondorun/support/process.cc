#include "tests/tools/rondorun/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rondo::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string new_mark() {
  static int counter = 0;
  return "RONDORUN_TEST_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++counter);
}

void set_variable(const std::string& variable) {
  const auto equals = variable.find('=');
  ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

UniqueFd make_pipe(UniqueFd& writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  writing = UniqueFd(ends[1]);
  return UniqueFd(ends[0]);
}

bool is_zombie(pid_t process) {
  const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end, 3) == ") Z";
}

std::string describe(const std::vector<pid_t>& processes) {
  std::string text;
  for (const pid_t process : processes)
    text += "\n" + read_file("/proc/" + std::to_string(process) + "/stat").substr(0, 60);
  return text;
}

}  // namespace

Process::Process(const Command& command) : mark_(new_mark()) {
  UniqueFd input_writer, output_writer, error_writer;
  const UniqueFd input = make_pipe(input_writer);
  output_fd_ = make_pipe(output_writer);
  error_fd_ = make_pipe(error_writer);
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(input.get(), 0);
    ::dup2(output_writer.get(), 1);
    ::dup2(error_writer.get(), 2);
    become(command);
  }
}

void Process::become(const Command& command) const {
  // Whoever started the tests may ignore some, as nohup does; children would, too.
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) ::signal(number, SIG_DFL);
  for (const std::string& variable : command.environment) set_variable(variable);
  set_variable(mark_);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(99);
}

Process::~Process() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  for (const pid_t process : living()) ::kill(process, SIGKILL);
}

void Process::take(UniqueFd& fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t taken = ::read(fd.get(), buffer.data(), buffer.size());
  if (taken > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(taken));
  } else if (taken == 0 || errno != EINTR) {
    fd.reset();
  }
}

void Process::pump() {
  pollfd descriptors[2] = {{output_fd_.get(), POLLIN, 0}, {error_fd_.get(), POLLIN, 0}};
  ::poll(descriptors, 2, 5);
  if (descriptors[0].revents != 0) take(output_fd_, output_);
  if (descriptors[1].revents != 0) take(error_fd_, error_);
}

void Process::wait_until(const std::function<bool()>& condition, const std::string& what) {
  const auto end = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() > end)
      throw std::runtime_error("waited in vain for " + what + "\noutput: " + output_ +
                               "\nerror: " + error_ + "\nliving:" + describe(living()));
    pump();
  }
}

void Process::wait_for(const std::string& text) {
  wait_until([&] { return output_.find(text) != std::string::npos; }, "'" + text + "'");
}

int Process::wait() {
  int status = 0;
  bool ended = false;
  wait_until(
      [&] {
        ended = ended || ::waitpid(process_, &status, WNOHANG) == process_;
        return ended && !output_fd_ && !error_fd_;
      },
      "the end");
  process_ = -1;
  return status_of(status);
}

std::vector<pid_t> Process::living() const {
  std::vector<pid_t> found;
  std::error_code problem;
  const std::string needle = std::string(1, '\0') + mark_ + '\0';
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0) continue;
    const std::string environment = '\0' + read_file(entry.path() / "environ");
    if (environment.find(needle) != std::string::npos && !is_zombie(process))
      found.push_back(process);
  }
  return found;
}

void Process::wait_none_living() {
  wait_until([&] { return living().empty(); }, "the end of all processes");
}

TemporaryFolder::TemporaryFolder() {
  std::string name = fs::temp_directory_path() / "rondorun_test.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  // Not through the iterator of a stream, which throws when a process vanishes from /proc.
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string rondorun() { return RONDORUN_PATH; }

std::string trouble(const std::string& error) {
  std::istringstream lines(error);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (line.find(": waiting for rank") == std::string::npos) rest += line + "\n";
  return rest;
}

Result finish(const Command& command) {
  Process process(command);
  const int status = process.wait();
  process.wait_none_living();
  return {status, process.output(), process.error()};
}

}  // namespace rondo::test
