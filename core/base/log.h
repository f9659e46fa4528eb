// Log: one line per event, to stderr or RONDO_DEBUG_FILE, written whole so ranks never mix lines:
//   [rondo 12:34:56.789 host:pid rank 2] WARN  text
#pragma once

#include <string_view>

#include "core/base/config_log.h"

namespace rondo {

/// Takes effect for the whole process; called when a communicator is made.
void configure_log(const LogSettings& settings);
bool log_enabled(LogLevel level, LogSubsystem subsystem = LogSubsystem::all);
/// `rank` < 0 where none is known. Thread-safe. Does nothing below the level in force, nor below a
/// warning where the settings leave the line's subsystem out.
void log(LogLevel level, int rank, std::string_view text,
         LogSubsystem subsystem = LogSubsystem::all);

}  // namespace rondo
