#include "tools/trainer/checkpoint/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rondo/error.h"

namespace rondo::train {
namespace {

[[noreturn]] void file_error(const std::string& what, const std::filesystem::path& path) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  throw Error(
      ErrorCode::system, what + " " + path.string() + ": " + std::strerror(number),
      {.remedy =
           full ? "room on that disk (each checkpoint that is kept takes some), or another folder"
                : "a folder that every rank on every host may read and write"});
}

/// Calls move(bytes, offset) until all bytes are moved. It returns as read() and write() do.
template <class Byte, class Move>
void move_all(std::span<Byte> bytes, std::uint64_t offset, const std::string& what,
              const std::filesystem::path& path, Move move) {
  while (!bytes.empty()) {
    const auto count = move(bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) file_error(what, path);
    if (count == 0) {
      throw Error(ErrorCode::system, path.string() + " ends too early",
                  {.remedy = "the file as it was written, or --resume-older"});
    }
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::filesystem::path beside(const std::filesystem::path& path) {
  return path.string() + ".unfinished";
}

void remove_beside(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove(beside(path), ignored);
}

}  // namespace

File::File(const std::filesystem::path& path, int flags, const char* action, mode_t mode)
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)), path_(path) {
  if (!descriptor_) file_error(action, path);
}
File File::create(const std::filesystem::path& path) {
  return {path, O_WRONLY | O_CREAT | O_TRUNC, "cannot create", 0644};
}
File File::open(const std::filesystem::path& path) { return {path, O_RDONLY, "cannot open"}; }
File File::open_to_write(const std::filesystem::path& path) {
  return {path, O_WRONLY, "cannot open"};
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  move_all(bytes, offset, "cannot write", path_, [&](std::span<const std::byte> rest, off_t at) {
    return ::pwrite(descriptor_.get(), rest.data(), rest.size(), at);
  });
}

void File::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) != 0)
    file_error("cannot cut", path_);
}

void File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  move_all(bytes, offset, "cannot read", path_, [&](std::span<std::byte> rest, off_t at) {
    return ::pread(descriptor_.get(), rest.data(), rest.size(), at);
  });
}

std::uint64_t File::size() const {
  struct stat facts {};
  if (::fstat(descriptor_.get(), &facts) != 0) file_error("cannot look at", path_);
  return static_cast<std::uint64_t>(facts.st_size);
}

void File::sync() const {
  if (::fsync(descriptor_.get()) != 0) file_error("cannot bring to the disk", path_);
}

File File::written_beside(const std::filesystem::path& path, const std::string& text, mode_t mode,
                          bool locked) {
  remove_beside(path);
  try {
    File file(beside(path), O_WRONLY | O_CREAT | O_EXCL, "cannot create", mode);
    if (locked) ::flock(file.descriptor_.get(), LOCK_EX | LOCK_NB);
    file.write_at(0, std::as_bytes(std::span(text)));
    return file;
  } catch (const Error&) {
    remove_beside(path);
    throw Error(ErrorCode::system, "cannot write " + path.string(),
                {.remedy = "a folder that exists, may be written to and is not full"});
  }
}

void File::take_place(const std::filesystem::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    remove_beside(path);
    file_error("cannot write", path);
  }
  path_ = path;
}

File replace_file(const std::filesystem::path& path, const std::string& text, mode_t mode,
                  bool locked) {
  File file = File::written_beside(path, text, mode, locked);
  file.take_place(path);
  return file;
}

void try_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::system, "cannot write " + path.string() + ": it is a folder",
                {.remedy = "the name of a file in it"});
  }
  File::written_beside(path, "", 0666, false);
  remove_beside(path);
}

std::string read_whole(const std::filesystem::path& path) {
  const File file = File::open(path);
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace rondo::train
