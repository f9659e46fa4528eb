// What the kernel tells of processes in /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo {

/// Fields of /proc/PID/stat. Value type.
struct ProcessStatus {
  int number = 0;             ///< its pid, as whoever mounted /proc counts
  char state = '?';           ///< 'R' runs, 'S' sleeps, 'Z' is a zombie, ...
  int threads = 0;            ///< of a zombie: itself, and those that go on without the first one
  std::uint64_t started = 0;  ///< clock ticks since boot, in the reader's time namespace

  /// Nothing where `line` is not what such a file holds.
  static std::optional<ProcessStatus> parse(const std::string& line);
  /// Nobody runs in it any more: it is gone, or waits for its parent to ask how it ended. The
  /// kernel has closed its files by then.
  bool has_ended() const;
};

/// This process's. Nothing where /proc cannot be read. Thread-safe.
std::optional<ProcessStatus> own_status();
/// That of the process which has this pid as this process counts. Nothing where there is none,
/// where /proc hides it, or where /proc counts otherwise (it was mounted in another PID namespace).
/// Thread-safe.
std::optional<ProcessStatus> status_of(int number);
/// Equal for processes that count processes alike; 0: unknown. Thread-safe.
std::uint64_t pid_namespace();

}  // namespace rondo
