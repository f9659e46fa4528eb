// Files whose writes return only when the data is on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace rondo::train {

/// A digest of bytes, independent of the pieces in which they come. It finds damage by disks and
/// interrupted copies, but is no protection against forgery.
class Digest {
 public:
  void add(std::span<const std::byte> bytes);
  /// 16 hexadecimal digits.
  std::string text() const;

 private:
  void add_word(std::uint64_t word);

  std::uint64_t value_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t tail_ = 0;  ///< the bytes_ % 8 last bytes
};

/// An open file. Every error is an Error{system} with the path and the system's message.
class File {
 public:
  static File create(const std::filesystem::path& path);
  static File open(const std::filesystem::path& path);
  /// Opens an existing file; its content stays.
  static File open_to_write(const std::filesystem::path& path);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  /// Appends all of it.
  void write(std::span<const std::byte> bytes);
  /// Writes all of it from `offset` on.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate(std::uint64_t size);
  /// Reads all of it. It is an error if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size() const;
  /// Returns when it is on the disk.
  void sync();

 private:
  File(int descriptor, std::filesystem::path path);

  int descriptor_;
  std::filesystem::path path_;
};

/// Returns when the folder's list of names is on the disk.
void sync_folder(const std::filesystem::path& folder);
/// Writes a small file and returns when it is on the disk.
void write_durably(const std::filesystem::path& path, const std::string& text);
/// The whole content of a small file.
std::string read_whole(const std::filesystem::path& path);
Digest digest_of(const std::filesystem::path& path);

}  // namespace rondo::train
