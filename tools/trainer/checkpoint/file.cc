#include "tools/trainer/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "rondo/error.h"
#include "tools/trainer/data/random.h"

namespace rondo::train {
namespace {

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  throw Error(
      ErrorCode::system, what + " " + path.string() + ": " + std::strerror(number),
      {.remedy =
           full ? "room on that disk (each checkpoint that is kept takes some), or another folder"
                : "a folder that every rank may read and write"});
}

}  // namespace

void Digest::add_word(std::uint64_t word) { value_ = mix(value_, word); }

void Digest::add(std::span<const std::byte> bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t held = bytes_ % sizeof tail_;
    if (held == 0 && bytes.size() - at >= sizeof tail_) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      add_word(word);
      at += sizeof word;
      bytes_ += sizeof word;
      continue;
    }
    tail_ |= static_cast<std::uint64_t>(bytes[at++]) << (8 * held);
    if (++bytes_ % sizeof tail_ == 0) add_word(std::exchange(tail_, 0));
  }
}

std::string Digest::text() const {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(mix(mix(value_, tail_), bytes_)));
  return digits.data();
}

File::File(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

File File::create(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("cannot create", path);
  return {descriptor, path};
}

File File::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("cannot open", path);
  return {descriptor, path};
}

File File::open_to_write(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail("cannot open", path);
  return {descriptor, path};
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write", path_);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void File::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("cannot cut", path_);
}

void File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read", path_);
    if (count == 0) {
      throw Error(ErrorCode::system, path_.string() + " ends too early",
                  {.remedy = "the file as it was written, or --resume-older"});
    }
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::uint64_t File::size() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) fail("cannot look at", path_);
  return static_cast<std::uint64_t>(facts.st_size);
}

void File::sync() {
  if (::fsync(descriptor_) != 0) fail("cannot bring to the disk", path_);
}

void sync_folder(const std::filesystem::path& folder) { File::open(folder).sync(); }

void write_durably(const std::filesystem::path& path, const std::string& text) {
  File file = File::create(path);
  file.write(std::as_bytes(std::span(text)));
  file.sync();
}

std::string read_whole(const std::filesystem::path& path) {
  const File file = File::open(path);
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

Digest digest_of(const std::filesystem::path& path) {
  constexpr std::size_t piece = 1U << 20;
  const File file = File::open(path);
  const std::uint64_t size = file.size();
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size, piece)));
  Digest digest;
  for (std::uint64_t at = 0; at < size; at += piece) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(size - at, piece));
    file.read_at(at, std::span(buffer).first(count));
    digest.add(std::span<const std::byte>(buffer).first(count));
  }
  return digest;
}

}  // namespace rondo::train
