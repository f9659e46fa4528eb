#include "tools/trainer/checkpoint/folder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "rondo/error.h"
#include "tools/trainer/checkpoint/file.h"

namespace rondo::train {
namespace {

constexpr const char* prefix = "step-";

std::string name_of(std::size_t step) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%s%08zu", prefix, step);
  return name.data();
}

template <class Action>
void on_disk(const std::filesystem::path& path, Action action) {
  try {
    action();
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorCode::system,
                "the checkpoint folder " + path.string() + ": " + error.code().message(),
                {.remedy = "--checkpoint with a folder that this program may write to"});
  }
}

}  // namespace

std::filesystem::path Folder::at(std::size_t step) const { return path_ / name_of(step); }
std::filesystem::path Folder::unfinished(std::size_t step) const {
  return path_ / (name_of(step) + ".unfinished");
}

std::vector<std::size_t> Folder::steps() const {
  std::vector<std::size_t> steps;
  on_disk(path_, [&] {
    if (!std::filesystem::exists(path_)) return;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      const std::string digits = name.starts_with(prefix) ? name.substr(5) : "";
      const bool number = !digits.empty() && digits.size() < 19 &&
                          digits.find_first_not_of("0123456789") == std::string::npos;
      if (number && name == name_of(std::stoull(digits))) steps.push_back(std::stoull(digits));
    }
  });
  std::sort(steps.begin(), steps.end());
  return steps;
}

void Folder::begin(std::size_t step) const {
  on_disk(path_, [&] {
    std::filesystem::create_directories(path_);
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && name.ends_with(".unfinished")) {
        std::filesystem::remove_all(entry.path());
      }
    }
    std::filesystem::create_directory(unfinished(step));
  });
}

void Folder::finish(std::size_t step) const {
  sync_folder(unfinished(step));
  on_disk(path_, [&] { std::filesystem::rename(unfinished(step), at(step)); });
  sync_folder(path_);
}

void Folder::prune(std::size_t keep) const {
  auto all = steps();
  if (all.size() <= keep) return;
  all.resize(all.size() - keep);
  for (const std::size_t step : all) {
    on_disk(path_, [&] {
      std::filesystem::rename(at(step), unfinished(step));
      std::filesystem::remove_all(unfinished(step));
    });
  }
}

void Folder::set_aside(std::size_t step) const {
  const std::filesystem::path target = path_ / (name_of(step) + ".broken");
  on_disk(path_, [&] {
    std::filesystem::remove_all(target);
    std::filesystem::rename(at(step), target);
  });
  sync_folder(path_);
}

}  // namespace rondo::train
