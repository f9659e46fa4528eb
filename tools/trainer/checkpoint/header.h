// What a checkpoint says about itself. It begins the file:
//
//   DIR/step-00000100    "DIGEST BYTES\n", JSON, spaces up to BYTES; then float32 arrays of the whole
//                        flat model: the parameters, and each of the optimizer's states
//
// So the file does not depend on the strategy and the number of ranks that wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/trainer/checkpoint/file.h"

namespace rondo::train {

/// How far a training has come; equal on every rank.
struct Position {
  std::size_t step = 0;   ///< steps done, including skipped ones: the sampler's place
  std::size_t taken = 0;  ///< steps the optimizer took
  double loss_scale = 1;
  std::size_t good = 0;  ///< steps since the loss scale was changed
};

/// What two runs must have in common so that one can resume the other, by name: "data" and its
/// fingerprint, "batch" and its rows, tensors and their shapes, ...
using Identity = std::vector<std::pair<std::string, std::string>>;

/// The remedy for a damaged checkpoint.
inline constexpr const char* damage_remedy =
    "--resume-older, which sets it aside and goes on from the one before it, or from the start "
    "where there is none";

struct Header {
  Position position{};
  Identity identity{};
  std::size_t elements = 0;  ///< of all arrays together
  std::string made_by{};     ///< strategy and ranks, for people
};

/// A part of the file's digest; `place`: of the first value among those of all arrays. The sum over all
/// values does not depend on who adds which. It finds damage by disks and interrupted copies, but is no
/// protection against forgery.
std::uint64_t digest_of(std::uint64_t place, std::span<const float> values);
/// The beginning of the file. `sum`: digest_of() all values.
std::string to_text(const Header& header, std::uint64_t sum);

/// A file's header, and how to check the rest.
struct ReadHeader {
  Header header{};
  std::string json{};       ///< as it stands in the file
  std::string digest{};     ///< of the JSON and the sum
  std::uint64_t bytes = 0;  ///< where the arrays begin
};
/// Throws Error{invalid_argument} if there is none, or the file's size does not fit.
ReadHeader read_header(const File& file);
/// Throws Error{invalid_argument} unless header and `sum` are as they were written.
void require_digest(const ReadHeader& read, std::uint64_t sum);

/// Throws Error{invalid_argument} that names the first difference.
void require_same(const Identity& saved, const Identity& expected);

}  // namespace rondo::train
