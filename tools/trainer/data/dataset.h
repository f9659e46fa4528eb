// Training data: numbered samples, in a part for training and a part for validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tools/trainer/data/batch.h"

namespace rondo::train {

enum class Part : unsigned char { training, validation };

/// Equal on every rank, which fingerprint() shows.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t samples(Part part) const = 0;
  /// Numbers below samples(part), in this order.
  virtual Batch batch(Part part, std::span<const std::size_t> numbers) const = 0;
  virtual std::size_t inputs() const = 0;              ///< columns of a batch
  virtual std::size_t outputs() const = 0;             ///< vocabulary or classes
  virtual std::size_t targets_per_sample() const = 0;  ///< tokens of a block, 1 for a point
  virtual std::uint64_t fingerprint() const = 0;
  /// For text: the character of a token, and the token of a character (0 if it has none).
  virtual char character(std::int32_t token) const;
  virtual std::int32_t token(char character) const;
};

/// A text of single bytes in blocks of `block` tokens, the last tenth for validation. Throws
/// Error{invalid_argument} if either part is shorter than a block and the character after it.
std::unique_ptr<Dataset> make_text(const std::string& text, std::size_t block);

/// A text for people: in quotes, with unprintable characters as "\\n" or "\\x1b". UTF-8 stays as it
/// is.
std::string readable(const std::string& text);
/// The whole UTF-8 character that begins at `place`, or one byte if none begins there.
std::string character_at(const std::string& text, std::size_t place);

/// The contents of a file. Throws Error{invalid_argument} if it is missing, a folder, or empty.
std::string read_text(const std::string& path);

/// About `bytes` of small stories from a grammar: the default text. The same on every machine.
std::string story_text(std::size_t bytes);

/// `samples` points of `classes` spirals that wind around each other, an eighth for validation.
std::unique_ptr<Dataset> make_spirals(std::size_t samples, std::size_t classes, std::uint64_t seed);

}  // namespace rondo::train
