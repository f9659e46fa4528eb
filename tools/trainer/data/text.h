// Training data: the characters of a text in numbered blocks, in a part for training and a part for
// validation; and which blocks each rank sees in which step.
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

/// A text for people: in quotes, with unprintable characters as "\\n" or "\\u001b".
std::string readable(const std::string& text);

/// The contents of a file. Throws Error{invalid_argument} if it is missing, a folder, or empty.
std::string read_text(const std::string& path);

/// About `bytes` of small stories from a grammar: the default text. The same on every machine.
std::string story_text(std::size_t bytes);

/// Equal on every rank, except `rank`.
struct SamplerOptions {
  std::size_t samples = 0;
  std::size_t batch = 1;  ///< global: samples of all ranks in a step
  int ranks = 1;
  int rank = 0;
  bool shuffle = true;  ///< another order in each epoch
  std::uint64_t seed = 0;
  bool drop_last = true;  ///< else the last batch is filled up from the epoch's beginning
};

/// An epoch is the samples in one order, cut to whole global batches. From each batch rank r takes
/// positions r, r + ranks, r + 2 ranks, ... Together the ranks see the same samples as one rank
/// would. A global batch of `ranks` samples is DistributedSampler itself: the epoch is dropped or
/// padded to a multiple of the ranks and dealt out in turn. The caller checks the options: batch >=
/// ranks, samples >= 1, and with drop_last samples >= batch.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  std::size_t steps_per_epoch() const { return steps_; }
  /// This rank's samples of a step. Steps are counted over all epochs, from 0.
  std::vector<std::size_t> at(std::size_t step);

 private:
  void arrange(std::size_t epoch);

  SamplerOptions options_;
  std::size_t steps_;
  std::size_t epoch_ = 0;
  std::vector<std::size_t> order_{};  ///< of epoch_; empty before the first
};

}  // namespace rondo::train
