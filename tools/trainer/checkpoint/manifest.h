// What makes a folder a checkpoint: the list of its files, with sizes and digests, of what they
// hold and of which training they are. It is written last.
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

/// What two runs must have in common for one to go on where the other ended, by name: "data" and
/// its fingerprint, "batch" and its rows, ...
using Identity = std::vector<std::pair<std::string, std::string>>;

/// What helps where a checkpoint is damaged.
inline constexpr const char* damage_remedy =
    "--resume-older, which sets it aside and goes on from the one before it, or from the start "
    "where there is none";

struct SavedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string digest{};
  /// Runs of the flat model that it holds, ascending. First come their parameters, float32, one run
  /// behind the other, then the optimizer's first state in the same way, and so on.
  std::vector<Extent> runs{};
};

struct Manifest {
  Position position{};
  Identity identity{};
  std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors{};  ///< names and shapes
  std::size_t states = 0;
  std::string made_by{};  ///< strategy and ranks; for people
  std::vector<SavedFile> files{};
};

/// Names and shapes of a model's parameters, in the order of the flat model.
std::vector<std::pair<std::string, std::vector<std::size_t>>> tensors_of(const Layout& layout);

std::string to_text(const Manifest& manifest);
/// Throws Error{invalid_argument} where the text is no manifest, or not as it was written.
Manifest parse_manifest(const std::string& text);

std::string to_text(const SavedFile& file);
SavedFile parse_file(const std::string& text);

/// Throws Error{invalid_argument} that names the first difference where `saved` is of another model
/// or run than `expected`. Positions, files and who made them may differ.
void require_same_training(const Manifest& saved, const Manifest& expected);
/// Throws Error{invalid_argument} where the files do not hold every element of the model once.
void require_complete(const Manifest& manifest, std::size_t elements);

}  // namespace rondo::train
