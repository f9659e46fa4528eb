// The numbers that every rank holds.
#include <algorithm>

#include "tools/rondo/explain/holdings.h"
#include "tools/rondo/explain/names.h"
#include "tools/rondo/explain/text.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr std::size_t gap = 2;

std::string cell_text(const Holding& holding) {
  if (holding.piece.chunk < 0) return ".";
  std::string words = elements_text(holding.piece.numbers);
  if (words.empty()) words = "-";  // a chunk without elements
  return holding.fresh ? "[" + words + "]" : words;
}

/// Every cell, and the widths that all tables share.
struct Grid {
  std::vector<std::vector<std::vector<std::string>>> rounds{};  ///< [round][rank][chunk]
  std::vector<std::size_t> columns{};                           ///< by chunk
};

Grid grid_of(const Explanation& explanation) {
  Grid grid;
  const ChunkNames names(explanation.header);
  for (int chunk = 0; chunk < explanation.header.layout.chunks(); ++chunk)
    grid.columns.push_back(names.chunk(chunk).size());
  for (std::size_t round = 0; round <= explanation.rounds.size(); ++round) {
    auto& ranks = grid.rounds.emplace_back();
    for (const std::vector<Holding>& rank : holdings(explanation, round)) {
      auto& cells = ranks.emplace_back();
      for (std::size_t chunk = 0; chunk < rank.size(); ++chunk) {
        cells.push_back(cell_text(rank[chunk]));
        grid.columns[chunk] = std::max(grid.columns[chunk], cells.back().size());
      }
    }
  }
  return grid;
}

std::string line_of(const std::string& label, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& columns) {
  std::string line = label;
  for (std::size_t i = 0; i < cells.size(); ++i) line += padded(cells[i], columns[i] + gap);
  return ended_line(line);
}

/// "a=0,1" for each chunk that holds something.
std::string list_of(const std::string& label, const std::vector<std::string>& cells,
                    const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == ".") continue;
    std::string word = names[i] + "=" + cells[i];
    std::replace(word.begin(), word.end(), ' ', ',');
    words.push_back(word);
  }
  return wrapped(label, words, label.size(), width);
}

}  // namespace

std::string values_text(const Explanation& explanation, std::size_t width) {
  const Grid grid = grid_of(explanation);
  const ChunkNames chunk_names(explanation.header);
  std::vector<std::string> names;
  for (int chunk = 0; chunk < explanation.header.layout.chunks(); ++chunk)
    names.push_back(chunk_names.chunk(chunk));
  const std::string indent(std::string("  rank 0  ").size(), ' ');
  std::size_t total = indent.size();
  for (const std::size_t column : grid.columns) total += column + gap;
  const bool fits = total <= width + gap;
  std::string text = "\nWhat each rank holds, as numbers; [..] has been written in that round\n";
  for (std::size_t round = 0; round < grid.rounds.size(); ++round) {
    if (round == 0) {
      text += "at the start\n";
    } else {
      const ExplainedRound& at = explanation.rounds[round - 1];
      text += chunk_names.phase(at.phase) + ", after round " + std::to_string(at.round + 1) + "\n";
    }
    if (fits) text += line_of(indent, names, grid.columns);
    for (std::size_t rank = 0; rank < grid.rounds[round].size(); ++rank) {
      const std::string label = padded("  rank " + std::to_string(rank), indent.size());
      const auto& cells = grid.rounds[round][rank];
      text += fits ? line_of(label, cells, grid.columns) : list_of(label, cells, names, width);
    }
  }
  return text;
}

}  // namespace rondo::tool
