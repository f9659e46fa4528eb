#include "core/settings/schedule_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rondo/error.h"

namespace rondo {
namespace {

/// All ranks get all texts, when a communicator is made.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why,
                         const std::string& remedy) {
  throw Error(ErrorCode::configuration, "the schedules " + path + " " + why, {.remedy = remedy});
}

std::string text_of(const std::filesystem::path& path) {
  std::error_code missing;
  std::ifstream file;
  // Opening a pipe would wait for who writes into it.
  if (std::filesystem::is_regular_file(path, missing)) file.open(path);
  if (!file.is_open())
    refuse(path.string(), "cannot be read",
           "name a file, no pipe, or a folder that rank 0 can read");
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::vector<ScheduleText> read_schedule_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code missing;
  std::vector<fs::path> files;
  if (fs::is_directory(path, missing)) {
    for (fs::directory_iterator each(path, missing), end; !missing && each != end;
         each.increment(missing))
      if (each->path().extension() == ".schedule") files.push_back(each->path());
    if (missing) refuse(path, "cannot be listed: " + missing.message(), "make it readable");
    if (files.empty()) refuse(path, "hold no file *.schedule", "name another folder, or a file");
    std::ranges::sort(files);
  } else {
    files.emplace_back(path);
  }
  std::vector<ScheduleText> texts;
  std::size_t bytes = 0;
  for (const fs::path& file : files) {
    texts.push_back({file.string(), text_of(file)});
    bytes += texts.back().text.size();
    if (bytes > most_bytes)
      refuse(path, "have more than " + std::to_string(most_bytes) + " bytes",
             "take fewer or shorter schedules; loops make them short");
  }
  return texts;
}

}  // namespace rondo
