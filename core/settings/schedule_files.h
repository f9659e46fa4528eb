// The files that RONDO_SCHEDULES names.
#pragma once

#include <string>
#include <vector>

#include "core/base/config.h"

namespace rondo {

/// The texts of a file, or of the files *.schedule of a folder, by name. Throws Error{configuration}
/// for what cannot be read, is too long, or holds none.
std::vector<ScheduleText> read_schedule_files(const std::string& path);

}  // namespace rondo
