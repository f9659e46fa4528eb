// Training data: the characters of a text in numbered blocks, in a part for training and a part for
// validation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rondo::train {

enum class Part : unsigned char { training, validation };

/// The input of a model in one micro-step: `rows` samples of `columns` tokens each, and for each
/// token the one that follows.
struct Batch {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int32_t> tokens{};
  std::vector<std::int32_t> targets{};
};

/// A text of single bytes in blocks of `block` tokens, the last tenth for validation. Equal on every
/// rank, which fingerprint() shows.
class Text {
 public:
  Text() = default;
  /// Throws Error{invalid_argument} if either part is shorter than a block and the character after
  /// it.
  Text(const std::string& text, std::size_t block);

  std::size_t samples(Part part) const;
  /// Numbers below samples(part), in this order.
  Batch batch(Part part, std::span<const std::size_t> numbers) const;
  /// The different characters, by their tokens.
  const std::string& characters() const { return characters_; }
  std::uint64_t fingerprint() const { return print_; }
  /// 0 for a character that the text does not have.
  std::int32_t token(char character) const {
    return number_[static_cast<unsigned char>(character)];
  }

 private:
  std::size_t block_ = 0;
  std::size_t split_ = 0;  ///< where validation begins
  std::uint64_t print_ = 0;
  std::string characters_{};
  std::array<std::int32_t, 256> number_{};
  std::vector<std::int32_t> tokens_{};
};

/// A text for people: in quotes, with unprintable characters as "\\n" or "\\x1b".
std::string readable(const std::string& text);

/// The contents of a file. Throws Error{invalid_argument} if it is missing, a folder, or empty.
std::string read_text(const std::string& path);

/// About `bytes` of small stories from a grammar: the default text. The same on every machine.
std::string story_text(std::size_t bytes);

}  // namespace rondo::train
