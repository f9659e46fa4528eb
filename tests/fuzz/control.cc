// What ranks and the coordinator read from each other, and from strangers before.
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/archive.h"
#include "core/control/message.h"
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

/// A connection from its preamble on.
void read_frames(Input& input, std::size_t longest) {
  control::FrameReader reader;
  bool begun = false;
  try {
    input.in_pieces([&](std::string_view piece) {
      reader.feed(piece);
      if (!begun && !reader.preamble()) return;
      begun = true;
      reader.set_longest(longest);
      while (const auto message = reader.next()) check_again(*message);
    });
  } catch (const control::NotRondo&) {
  }
}

}  // namespace
}  // namespace rondo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rondo;
  fuzz::Input input(data, size);
  switch (input.choice(3)) {
    case 0:
      fuzz::read_frames(input, control::longest_of_stranger);
      break;
    case 1:
      fuzz::read_frames(input, control::longest_message);
      break;
    default:
      fuzz::read_record(input.rest());
  }
  return 0;
}
