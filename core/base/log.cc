#include "core/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>

#include "core/base/undying.h"
#include "core/base/unique_fd.h"

namespace rondo {
namespace {

/// The process's log. Nothing in it has a destructor, so it may be written to until the very end.
struct State {
  std::atomic<LogLevel> level{LogLevel::warn};  ///< relaxed everywhere: a setting, guards nothing
  std::atomic<LogSubsystems> subsystems{bits_of(LogSubsystem::all)};  ///< relaxed, likewise
  std::atomic<int> descriptor{STDERR_FILENO};  ///< release and acquire; replaced by dup3
  std::size_t pattern = 0;                     ///< hash of the file pattern in force, under mutex
  std::mutex mutex;                            ///< one configure_log at a time
};

State& state() {
  static State the_state;
  return the_state;
}

const std::string& host_name() {
  static const std::string& name = *undying<std::string>([] {
    std::array<char, 256> text{};
    ::gethostname(text.data(), text.size() - 1);
    return std::string(text.data()).substr(0, std::string(text.data()).find('.'));
  }());
  return name;
}

std::string file_name(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h') {
      name += host_name();
    } else if (next == 'p') {
      name += std::to_string(::getpid());
    } else {
      name += pattern[i];
      continue;
    }
    ++i;
  }
  return name;
}

/// Threads may be writing to the old descriptor: it is replaced in place, never closed.
void use_file(State& log_state, const std::string& pattern) {
  UniqueFd file(
      ::open(file_name(pattern).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    log(LogLevel::warn, -1, "cannot open the log file " + file_name(pattern) + "; using stderr");
    return;
  }
  const int old = log_state.descriptor.load(std::memory_order_relaxed);
  if (old == STDERR_FILENO) {
    // release, for the acquire in log(): a thread that writes to it sees it opened.
    log_state.descriptor.store(file.release(), std::memory_order_release);
  } else {
    ::dup3(file.get(), old, O_CLOEXEC);
  }
}

std::string time_of_day() {
  const auto now = std::chrono::system_clock::now();
  const auto second = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  ::localtime_r(&second, &parts);
  std::array<char, 16> clock{};
  std::strftime(clock.data(), clock.size(), "%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>(milliseconds));
  return std::string(clock.data()) + fraction.data();
}

std::string_view padded_name(LogLevel level) {
  switch (level) {
    case LogLevel::warn:
      return "WARN  ";
    case LogLevel::info:
      return "INFO  ";
    case LogLevel::trace:
      return "TRACE ";
    case LogLevel::none:
      break;
  }
  return "";
}

}  // namespace

void configure_log(const LogSettings& settings) {
  State& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  log_state.level.store(settings.level, std::memory_order_relaxed);
  log_state.subsystems.store(settings.subsystems, std::memory_order_relaxed);
  const std::size_t pattern = settings.file.empty() ? 0 : std::hash<std::string>{}(settings.file);
  if (pattern == 0 || pattern == log_state.pattern) return;
  log_state.pattern = pattern;
  use_file(log_state, settings.file);
}

bool log_enabled(LogLevel level, LogSubsystem subsystem) {
  const State& log_state = state();
  if (level == LogLevel::none || level > log_state.level.load(std::memory_order_relaxed))
    return false;
  return level == LogLevel::warn ||
         (log_state.subsystems.load(std::memory_order_relaxed) & bits_of(subsystem)) != 0;
}

void log(LogLevel level, int rank, std::string_view text, LogSubsystem subsystem) {
  if (!log_enabled(level, subsystem)) return;
  std::string line = "[rondo " + time_of_day() + " " + host_name() + ":";
  line += std::to_string(::getpid());
  if (rank >= 0) line += " rank " + std::to_string(rank);
  line += "] ";
  line += padded_name(level);
  line += text;
  line += '\n';
  // One write, so that lines of several ranks never mix; what a full disk refuses is lost.
  while (::write(state().descriptor.load(std::memory_order_acquire), line.data(), line.size()) <
             0 &&
         errno == EINTR) {
  }
}

}  // namespace rondo
