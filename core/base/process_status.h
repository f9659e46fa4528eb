// What the kernel says about processes in /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo {

/// Fields of /proc/PID/stat. Value type.
struct ProcessStatus {
  int number = 0;             ///< its pid, in the PID namespace that /proc was mounted in
  char state = '?';           ///< 'R' runs, 'S' sleeps, 'Z' is a zombie, ...
  int threads = 0;            ///< of a zombie: itself, and those that go on without the first one
  std::uint64_t started = 0;  ///< clock ticks since boot, in the reader's time namespace

  /// Nothing where `line` is not what such a file holds.
  static std::optional<ProcessStatus> parse(const std::string& line);
  /// No thread runs in it any more: it is gone, or a zombie that waits for its parent. The kernel
  /// has closed its files by then.
  bool has_ended() const;
};

/// The status of this process. Nothing where /proc cannot be read. Thread-safe.
std::optional<ProcessStatus> own_status();
/// The status of the process that has this pid in the PID namespace of this process. Nothing where
/// there is none, where /proc hides it, or where /proc counts otherwise (it was mounted in another
/// PID namespace). Thread-safe.
std::optional<ProcessStatus> status_of(int number);
/// Equal for processes that count processes alike; 0: unknown. Thread-safe.
std::uint64_t pid_namespace();

}  // namespace rondo
