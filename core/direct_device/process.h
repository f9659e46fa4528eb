// Whether a peer's process is still there.
#pragma once

#include <cstdint>

namespace rondo::direct_device {

/// A process as others of its machine know it. Value type.
struct Process {
  int number = 0;             ///< as it is counted where it runs
  std::uint64_t counted = 0;  ///< names those that count together (a PID namespace); 0: unknown
  /// When it was started, as this process reads it: tells it from a later one with its number. Not
  /// told from rank to rank, as time namespaces read it differently; 0: unknown.
  std::uint64_t started = 0;

  /// This one.
  static Process mine();
  /// The same with its start: ask while it is known to be there. Thread-safe.
  Process seen() const;
  /// False only where it is known to have ended: a zombie has, whose parent has not asked for it
  /// yet, and one whose number another process has. A number from elsewhere (another container)
  /// says nothing here. Thread-safe.
  bool lives() const;
};

}  // namespace rondo::direct_device
