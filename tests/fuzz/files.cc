// Files that programs are given: checkpoints, calibration profiles, topologies.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/unique_fd.h"
#include "rondo/error.h"
#include "tests/fuzz/input.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/topology/file.h"
#include "tools/trainer/checkpoint/header.h"

namespace rondo::fuzz {
namespace {

/// A file that is only in memory.
class Content {
 public:
  explicit Content(std::string_view bytes) : file_(::memfd_create("content", MFD_CLOEXEC)) {
    demand(::write(file_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "memory has room for the file");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  UniqueFd file_;
};

void read_checkpoint(const std::string& path) {
  using namespace train;
  const File file(path);
  const ReadHeader read = read_header(file);
  demand(read.header.elements <= file.size() / sizeof(float), "a file has the numbers it names");
  constexpr std::size_t few = 64;
  if (read.header.elements > few) return;
  const std::string arrays(read.header.elements * sizeof(float), '\0');
  const Content again(to_text(read.header, 0) + arrays);
  const ReadHeader copy = must_read([&] { return read_header(File(again.path())); });
  demand(copy.header.identity == read.header.identity, "a training is read as it was written");
  must_read([&] { require_digest(copy, 0); });
}

void read_profile(const std::string& path) {
  const std::string written = to_json(tool::read_profile(path)).dump();
  const Content again(written);
  const auto copy = must_read([&] { return tool::read_profile(again.path()); });
  demand(to_json(copy).dump() == written, "a profile is read as it was written");
}

void read_topology(const std::string& path) {
  const Content again(tool::to_json(tool::read_topology(path)).dump());
  must_read([&] { return tool::read_topology(again.path()); });
}

/// Files may have hosts by the million, which takes long.
bool has_long_number(std::string_view text) {
  constexpr std::size_t longest = 3;
  std::size_t digits = 0;
  return std::ranges::any_of(text, [&](char each) {
    digits = each >= '0' && each <= '9' ? digits + 1 : 0;
    return digits > longest;
  });
}

void read(unsigned kind, std::string_view bytes) {
  const Content content(bytes);
  if (kind == 0) read_checkpoint(content.path());
  if (kind == 1) read_profile(content.path());
  if (kind == 2 && !has_long_number(bytes)) read_topology(content.path());
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rondo::fuzz::Input input(data, size);
  const unsigned kind = input.choice(3);
  try {
    rondo::fuzz::read(kind, input.rest());
  } catch (const rondo::Error&) {
  }
  return 0;
}
