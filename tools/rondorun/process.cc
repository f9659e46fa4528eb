#include "tools/rondorun/process.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>

#include "core/base/unique_fd.h"
#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

/// What the child tells its parent through a pipe when it cannot become the program.
struct SpawnFailure {
  enum class Stage : int { directory, descriptors, core, program } stage;
  int error;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

cpu_set_t usable_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  return set;
}

bool move_to_core(int index) {
  const cpu_set_t usable = usable_set();
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  errno = EINVAL;
  return false;
}

bool place_descriptors(const Spawn& request) {
  const int wanted[] = {request.input, request.output, request.error};
  for (int target = 0; target < 3; ++target)
    if (wanted[target] >= 0 && ::dup2(wanted[target], target) < 0) return false;
  return true;
}

/// The new process's own part: becomes the program or says why not. Does not return.
[[noreturn]] void become(const Spawn& request, pid_t parent, int report) {
  const auto refuse = [&](SpawnFailure::Stage stage) {
    const SpawnFailure failure{stage, errno};
    [[maybe_unused]] const auto written = ::write(report, &failure, sizeof failure);
    ::_exit(status_not_found);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(status_failure);  // the parent died before prctl() could tell
  if (!place_descriptors(request)) refuse(SpawnFailure::Stage::descriptors);
  if (request.core && !move_to_core(*request.core)) refuse(SpawnFailure::Stage::core);
  if (!request.directory.empty() && ::chdir(request.directory.c_str()) != 0)
    refuse(SpawnFailure::Stage::directory);
  auto environment = pointers(request.environment);
  const auto command = pointers(request.command);
  environ = environment.data();
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &request.blocked_signals, nullptr);
  ::execvp(command[0], command.data());
  refuse(SpawnFailure::Stage::program);
  ::_exit(status_failure);
}

LaunchError program_error(const std::string& program, int error) {
  const bool named_by_path = program.find('/') != std::string::npos;
  std::string text = "cannot run '" + program + "': ";
  if (error == ENOENT && !named_by_path) {
    text += "there is no program of that name in PATH";
  } else if (error == ENOENT && ::access(program.c_str(), F_OK) == 0) {
    text += "its interpreter or loader does not exist";
  } else {
    text += std::strerror(error);
  }
  return {error == ENOENT ? status_not_found : status_not_executable, text};
}

LaunchError explain(const Spawn& request, const SpawnFailure& failure) {
  const std::string reason = std::strerror(failure.error);
  switch (failure.stage) {
    case SpawnFailure::Stage::directory:
      return {status_failure, "cannot change to directory '" + request.directory + "': " + reason +
                                  " (see --directory)"};
    case SpawnFailure::Stage::core:
      return {status_failure, "--bind core: cannot bind to core number " +
                                  std::to_string(request.core.value_or(0)) + ": " + reason};
    case SpawnFailure::Stage::descriptors:
      return {status_failure, "cannot redirect output: " + reason};
    case SpawnFailure::Stage::program:
      break;
  }
  return program_error(request.command.front(), failure.error);
}

pid_t parent_of(pid_t process) {
  // Not a stream: reading fails, and a stream may throw, when the process vanishes meanwhile.
  const UniqueFd file(::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY));
  std::array<char, 512> bytes;
  const ssize_t count = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  const std::string_view line(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  // "pid (name) state parent ...", and a name may contain anything, parentheses too.
  const auto name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 > line.size()) return 0;
  pid_t parent = 0;
  std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
  return parent;
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code problem;
  std::filesystem::directory_iterator entry("/proc", problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    const std::string name = entry->path().filename();
    pid_t process = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc() && stop == name.data() + name.size())
      children.emplace(parent_of(process), process);
  }
  return children;
}

}  // namespace

bool Ending::killed() const { return WIFSIGNALED(wait_status_); }

int Ending::exit_status() const {
  return killed() ? status_signal_base + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

std::string Ending::text() const {
  if (!killed()) return "exited with status " + std::to_string(WEXITSTATUS(wait_status_));
  const int signal = WTERMSIG(wait_status_);
  return "was killed by signal " + std::to_string(signal) + " (" + signal_name(signal) +
         (WCOREDUMP(wait_status_) ? ", core dumped)" : ")");
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

pid_t spawn(const Spawn& request) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe");
  const UniqueFd report(ends[0]);
  UniqueFd reporter(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("cannot start another process");
  if (child == 0) become(request, parent, reporter.get());
  ::setpgid(child, child);  // here too, so that the group exists when this returns
  reporter.reset();
  // exec closes the pipe; a report means that there was none.
  SpawnFailure failure{};
  if (::read(report.get(), &failure, sizeof failure) == sizeof failure) {
    ::waitpid(child, nullptr, 0);
    throw explain(request, failure);
  }
  return child;
}

int usable_cores() {
  const cpu_set_t usable = usable_set();
  return CPU_COUNT(&usable);
}

std::vector<pid_t> descendants(std::span<const pid_t> except) {
  const auto children = children_by_parent();
  std::vector<pid_t> found{::getpid()};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto [first, last] = children.equal_range(found[next]);
    for (auto child = first; child != last; ++child)
      if (std::find(except.begin(), except.end(), child->second) == except.end())
        found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

void signal_all(std::span<const pid_t> processes, int signal) {
  for (const pid_t process : processes) ::kill(process, signal);
}

}  // namespace rondo::launch
