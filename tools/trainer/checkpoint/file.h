// A file whose writes return only when the system has them.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/unique_fd.h"

namespace rondo::train {

/// An open file. Every error is an Error{system} with the path and the system's message.
class File {
 public:
  /// `flags` and `mode`: open()'s.
  explicit File(const std::filesystem::path& path, int flags = O_RDONLY, mode_t mode = 0644);

  /// Writes all of it from `offset` on.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate(std::uint64_t size);
  /// Reads all of it. It is an error if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size() const;
  /// Returns when it is on the disk. Of a folder: its list of names.
  void sync() const;
  /// Locks it by flock() until it is closed.
  void lock();
  void rename(const std::filesystem::path& path);

 private:
  UniqueFd descriptor_;
  std::filesystem::path path_;
};

/// Writes the file, completely or not at all; who may read it is up to `mode`. `locked`: as long as
/// what it returns lives, and before anybody can find it. Throws Error{system}, and leaves nothing.
File replace_file(const std::filesystem::path& path, const std::string& text, mode_t mode = 0666,
                  bool locked = false);
/// Throws Error{system} if replace_file(path) would, as far as that can be known before. An existing
/// file `path` stays as it is.
void try_file(const std::filesystem::path& path);

/// The whole content of a small file.
std::string read_whole(const std::filesystem::path& path);

}  // namespace rondo::train
