// How much is logged, as the environment says.
#pragma once

#include <cstdint>
#include <string>

namespace rondo {

enum class LogLevel : std::uint8_t { none, warn, info, trace };

/// The subject of a log line; `all` stands for every one of them.
enum class LogSubsystem : std::uint8_t {
  init,
  coll,
  p2p,
  shm,
  net,
  graph,
  tuning,
  env,
  alloc,
  alloc_host,
  call,
  proxy,
  nvls,
  bootstrap,
  reg,
  profile,
  ras,
  destroy,
  all
};

/// A bit for each LogSubsystem.
using LogSubsystems = std::uint32_t;

constexpr LogSubsystems bits_of(LogSubsystem subsystem) {
  const auto place = static_cast<unsigned>(subsystem);
  constexpr auto every = (LogSubsystems{1} << static_cast<unsigned>(LogSubsystem::all)) - 1;
  return subsystem == LogSubsystem::all ? every : LogSubsystems{1} << place;
}

/// Value type.
struct LogSettings {
  LogLevel level = LogLevel::warn;                        ///< RONDO_DEBUG
  LogSubsystems subsystems = bits_of(LogSubsystem::all);  ///< RONDO_DEBUG_SUBSYS
  std::string file{};  ///< RONDO_DEBUG_FILE: %h host, %p pid; empty: standard error
};

}  // namespace rondo
