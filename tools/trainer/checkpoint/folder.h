// A folder of checkpoints on the disk.
//
//   DIR/step-00000100/manifest.json, shard-0000.bin, ...    a checkpoint
//   DIR/step-00000200.unfinished/                           being written, or being deleted
//   DIR/step-00000050.broken/                               set aside by --resume-older
//
// A folder gets a name without an ending only by renaming, when all its files are on the disk. It
// loses that name by renaming, too, before its files are deleted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace rondo::train {

/// Not collective: one rank's calls. Every error is an Error{system} that names the path.
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Steps of the checkpoints, ascending. None where the folder does not exist.
  std::vector<std::size_t> steps() const;
  std::filesystem::path at(std::size_t step) const;
  std::filesystem::path unfinished(std::size_t step) const;
  std::filesystem::path manifest(std::size_t step) const { return at(step) / manifest_name; }

  /// Makes the folder if it is missing, removes unfinished checkpoints, and begins `step`.
  void begin(std::size_t step) const;
  /// From here on the checkpoint counts.
  void finish(std::size_t step) const;
  /// Deletes all but the newest `keep` checkpoints.
  void prune(std::size_t keep) const;
  void set_aside(std::size_t step) const;

  static constexpr const char* manifest_name = "manifest.json";

 private:
  std::filesystem::path path_;
};

}  // namespace rondo::train
