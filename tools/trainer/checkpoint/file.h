// A file whose writes return only when the system has them.
#pragma once

#include <sys/types.h>

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
  /// Empties the file if it is there.
  static File create(const std::filesystem::path& path);
  static File open(const std::filesystem::path& path);
  /// Opens an existing file; its content stays.
  static File open_to_write(const std::filesystem::path& path);

  /// Writes all of it from `offset` on.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate(std::uint64_t size);
  /// Reads all of it. It is an error if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size() const;
  /// Returns when it is on the disk. Of a folder: its list of names.
  void sync() const;

  /// Gives what written_beside() made its name.
  void take_place(const std::filesystem::path& path);
  /// A new file, which replace_file() will call `path`. Throws Error{system}, and leaves nothing.
  static File written_beside(const std::filesystem::path& path, const std::string& text,
                             mode_t mode, bool locked);

 private:
  File(const std::filesystem::path& path, int flags, const char* action, mode_t mode = 0);

  UniqueFd descriptor_;
  std::filesystem::path path_;
};

/// Writes the file, completely or not at all; who may read it is up to `mode`. `locked`: by flock(),
/// as long as what it returns lives, and before anybody can find it. Throws Error{system}.
File replace_file(const std::filesystem::path& path, const std::string& text, mode_t mode = 0666,
                  bool locked = false);
/// Throws Error{system} if replace_file(path) would, as far as that can be known before. An existing
/// file `path` stays as it is.
void try_file(const std::filesystem::path& path);

/// The whole content of a small file.
std::string read_whole(const std::filesystem::path& path);

}  // namespace rondo::train
