// Does the process of a peer still run?
#pragma once

#include <cstdint>

namespace rondo::direct_device {

/// A process as others of its machine know it. Value type.
struct Process {
  int number = 0;             ///< as it is counted where it runs
  std::uint64_t counted = 0;  ///< names those that count together (a PID namespace); 0: unknown
  /// When it was started, as this process reads it. It tells the process from a later one with its
  /// number. Not sent from rank to rank, as time namespaces read it differently; 0: unknown.
  std::uint64_t started = 0;

  /// This one.
  static Process mine();
  /// The same with its start: ask while it is known to be there. Thread-safe.
  Process seen() const;
  /// False only where the process is known to have ended. A zombie has ended, although its parent
  /// has not asked for it yet. So has a process whose number another process has. A number from
  /// elsewhere (another container) says nothing here. Thread-safe.
  bool lives() const;
};

}  // namespace rondo::direct_device
