// What ranks and the coordinator read from each other, and from strangers before.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/base/archive.h"
#include "core/control/message.h"
#include "tests/control/sealed.h"
#include "tests/fuzz/input.h"

namespace rondo::fuzz {
namespace {

/// A struct with every kind of field.
struct Record {
  std::uint8_t small = 0;
  std::int32_t number = 0;
  std::uint64_t large = 0;
  std::string text{};
  std::vector<std::uint16_t> numbers{};
  std::vector<std::string> texts{};
  std::vector<std::vector<std::int32_t>> lists{};

  static void fields(auto& self, auto& archive) {
    archive(self.small, self.number, self.large, self.text, self.numbers, self.texts, self.lists);
  }
};

void read_record(std::string_view bytes) {
  try {
    demand(pack(unpack<Record>(bytes)) == bytes, "a record is packed as it was");
  } catch (const Malformed&) {
  }
}

void check_again(const control::Message& message) {
  const std::string bytes = encode(message);
  control::FrameReader reader(control::longest_message);
  reader.feed(bytes);
  const auto again = must_read([&] { return reader.next(); });
  demand(again && encode(*again) == bytes, "a message is read as it was written");
  demand(!reader.next(), "a message is one frame");
  static_cast<void>(communicator_of(message));
}

/// A connection whose frames lack their checksums, as the corpus has it, with them: mutations would
/// hardly ever find one.
std::string with_checksums(std::string_view bytes) {
  std::string sealed(bytes.substr(0, control::preamble_bytes));
  bytes.remove_prefix(sealed.size());
  while (!bytes.empty()) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), std::min(bytes.size(), sizeof(length)));
    bytes.remove_prefix(std::min(bytes.size(), sizeof(length)));
    const auto body = bytes.substr(0, length);
    sealed += test::sealed(body, length);
    bytes.remove_prefix(body.size());
  }
  return sealed;
}

/// A connection from its preamble on.
template <class Change>
void read_frames(Input& input, std::size_t longest, const Change& change) {
  control::FrameReader reader;
  bool begun = false;
  const auto take = [&](std::string_view piece) {
    reader.feed(piece);
    if (!begun && !reader.preamble()) return;
    begun = true;
    reader.set_longest(longest);
    while (const auto message = reader.next()) check_again(*message);
  };
  try {
    input.in_pieces(take, change);
  } catch (const control::NotRondo&) {
  }
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rondo;
  fuzz::Input input(data, size);
  switch (input.choice(4)) {
    case 0:
      fuzz::read_frames(input, control::longest_of_stranger, fuzz::with_checksums);
      break;
    case 1:
      fuzz::read_frames(input, control::longest_message, fuzz::with_checksums);
      break;
    case 3:
      fuzz::read_frames(input, control::longest_of_stranger, std::identity{});
      break;
    default:
      fuzz::read_record(input.rest());
  }
  return 0;
}
