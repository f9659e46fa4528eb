// The manifest makes a folder a checkpoint. It lists the files with their sizes and digests, what
// they hold, and the training that they belong to. It is written last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/trainer/model/unit.h"
#include "tools/trainer/optimize/optimizer.h"
#include "tools/trainer/position.h"
#include "tools/trainer/strategy/zero/partition.h"

namespace rondo::train {

/// What two runs must have in common so that one can resume the other, by name: "data" and its
/// fingerprint, "batch" and its rows, ...
using Identity = std::vector<std::pair<std::string, std::string>>;

/// The remedy for a damaged checkpoint.
inline constexpr const char* damage_remedy =
    "--resume-older, which sets it aside and goes on from the one before it, or from the start "
    "where there is none";

struct SavedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string digest{};
  /// The runs of the flat model that the file holds, ascending. First come the float32 parameters
  /// of all runs, one run after the other, then the optimizer's first state in the same order, and
  /// so on.
  std::vector<Extent> runs{};
};

struct Manifest {
  Position position{};
  Identity identity{};
  std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors{};  ///< names and shapes
  std::size_t states = 0;
  std::string made_by{};  ///< strategy and ranks, for people
  std::vector<SavedFile> files{};
};

/// Names and shapes of a model's parameters, in the order of the flat model.
std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors_of(const Layout& layout);

std::string to_text(const Manifest& manifest);
/// Throws Error{invalid_argument} if the text is not a manifest, or has changed since it was
/// written.
Manifest parse_manifest(const std::string& text);

std::string to_text(const SavedFile& file);
SavedFile parse_file(const std::string& text);

/// Throws Error{invalid_argument} if `saved` is of another model or run than `expected`, and names
/// the first difference. Position, files and `made_by` may differ.
void require_same_training(const Manifest& saved, const Manifest& expected);
/// Throws Error{invalid_argument} unless the files hold every element of the model exactly once.
void require_complete(const Manifest& manifest, std::size_t elements);

}  // namespace rondo::train
