#include "tools/trainer/checkpoint/file.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

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

/// Calls write(path of a file that is not there) and removes that file again if that fails.
template <class Write>
void written_beside(const std::filesystem::path& path, Write write) {
  const std::filesystem::path beside = path.string() + ".unfinished";
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  try {
    write(beside);
  } catch (const Error&) {
    std::filesystem::remove(beside, ignored);
    throw Error(ErrorCode::system, "cannot write " + path.string(),
                {.remedy = "a folder that exists, may be written to and is not full"});
  }
}

constexpr int anew = O_WRONLY | O_CREAT | O_EXCL;

}  // namespace

File::File(const std::filesystem::path& path, int flags, mode_t mode)
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)), path_(path) {
  if (!descriptor_) file_error((flags & O_CREAT) != 0 ? "cannot create" : "cannot open", path);
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

void File::lock() { ::flock(descriptor_.get(), LOCK_EX | LOCK_NB); }

void File::rename(const std::filesystem::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) file_error("cannot write", path);
  path_ = path;
}

File replace_file(const std::filesystem::path& path, const std::string& text, mode_t mode,
                  bool locked) {
  std::optional<File> file;
  written_beside(path, [&](const std::filesystem::path& beside) {
    file.emplace(beside, anew, mode);
    if (locked) file->lock();
    file->write_at(0, std::as_bytes(std::span(text)));
    file->rename(path);
  });
  return std::move(*file);
}

void try_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::system, "cannot write " + path.string() + ": it is a folder",
                {.remedy = "the name of a file in it"});
  }
  written_beside(path, [](const std::filesystem::path& beside) {
    const File file(beside, anew);
    std::filesystem::remove(beside);
  });
}

std::string read_whole(const std::filesystem::path& path) {
  const File file(path);
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace rondo::train
