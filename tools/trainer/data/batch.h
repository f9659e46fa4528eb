// The input of a model in one micro-step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::train {

/// `rows` samples of one kind. Text: `columns` tokens each, and for each the token that follows.
/// Points: `columns` features each, and one class.
struct Batch {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int32_t> tokens{};   ///< rows x columns; text only
  std::vector<float> features{};        ///< rows x columns; points only
  std::vector<std::int32_t> targets{};  ///< rows x columns of text, rows of points
};

}  // namespace rondo::train
