// What the fuzz targets have in common: each reads bytes as a stranger could send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string_view>
#include <utility>

/// libFuzzer's name for a target; main.cc calls it, too. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rondo::fuzz {

/// Ends the program, with the words, where a promise is broken.
inline void demand(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

/// What `read` gives, of something that was written here: it must not refuse that.
template <class Read>
auto must_read(const Read& read) {
  try {
    return read();
  } catch (const std::exception& error) {
    demand(false, error.what());
    throw;
  }
}

/// The bytes of one input, taken from its front.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(reinterpret_cast<const char*>(data), size) {}

  /// 0 where nothing is left.
  unsigned number() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  /// Which of `count` readers the rest is for. Written as a digit in the corpus.
  unsigned choice(unsigned count) { return number() % count; }
  std::string_view rest() const { return bytes_; }

  /// Gives the rest, as `change` returns it, to `take` in pieces. The first two bytes say how long
  /// they are, in turn.
  template <class Take, class Change = std::identity>
  void in_pieces(const Take& take, const Change& change = {}) {
    std::size_t length = number() + 1;
    std::size_t other = number() + 1;
    const auto changed = change(std::exchange(bytes_, {}));
    std::string_view left = changed;
    while (!left.empty()) {
      const auto piece = left.substr(0, length);
      left.remove_prefix(piece.size());
      take(piece);
      std::swap(length, other);
    }
  }

 private:
  std::string_view bytes_;
};

}  // namespace rondo::fuzz
