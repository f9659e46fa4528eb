// Tables of an explanation: rounds down, ranks across.
#include <algorithm>

#include "tools/rondo/explain/names.h"
#include "tools/rondo/explain/text.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr std::size_t wide_gap = 2;  ///< between columns; 1 where that is too wide

bool blank(const Cells& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const auto& cell) { return cell.empty(); });
}

std::string row(const std::string& label, const Cells& cells, std::size_t column) {
  std::string line = label;
  for (const std::string& cell : cells) line += padded(cell.empty() ? "." : cell, column);
  return ended_line(line);
}

/// The words of a cell; those too long for a line are broken after commas.
std::vector<std::string> words_of(const std::string& cell, std::size_t longest) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < cell.size();) {
    std::size_t end = std::min(cell.find(' ', at), cell.size());
    const bool too_long = end - at > longest;
    if (too_long) end = std::min(end, cell.find(',', at) + 1);
    words.push_back(cell.substr(at, end - at));
    at = end < cell.size() && cell[end] == ' ' ? end + 1 : end;
  }
  return words;
}

std::string list(const std::string& label, const Cells& cells, std::size_t width) {
  std::string text;
  std::string first = label;
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    if (cells[rank].empty()) continue;
    const std::string start = first + "rank " + std::to_string(rank) + ":";
    text +=
        wrapped(start, words_of(cells[rank], width - start.size() - 1), start.size() + 1, width);
    first = std::string(label.size(), ' ');
  }
  return text;
}

std::size_t label_width(const Explanation& explanation) {
  std::uint32_t most = 0;
  for (const ExplainedRound& round : explanation.rounds) most = std::max(most, round.round + 1);
  return 2 + std::to_string(most).size() + wide_gap;
}

std::string ranks_line(const Explanation& explanation, std::size_t column) {
  Cells names;
  for (int rank = 0; rank < explanation.header.ranks; ++rank)
    names.push_back("rank " + std::to_string(rank));
  return row(std::string(label_width(explanation), ' '), names, column);
}

std::string total_text(const Explanation& explanation, const RankTotal& total,
                       const char* between) {
  const std::string carried = explanation.sizes ? size_text(static_cast<double>(total.bytes), "")
                                                : number_text(total.sent) + "N";
  return std::to_string(total.messages) + between + carried;
}

}  // namespace

std::string round_label(const Explanation& explanation, const ExplainedRound& round) {
  return padded("  " + std::to_string(round.round + 1), label_width(explanation));
}

std::string round_table(const Explanation& explanation, const RoundRows& rows, std::size_t width) {
  const auto& all = rows.rows;
  if (std::all_of(all.begin(), all.end(), blank)) return {};
  std::size_t column = std::string("rank 0").size();
  for (const Cells& cells : all)
    for (const std::string& cell : cells) column = std::max(column, cell.size());
  const auto fits = [&](std::size_t gap) {
    return label_width(explanation) +
               static_cast<std::size_t>(explanation.header.ranks) * (column + gap) <=
           width + gap;
  };
  const std::size_t gap = fits(wide_gap) ? wide_gap : 1;
  std::string text = "\n" + rows.title + "\n";
  if (fits(gap)) text += ranks_line(explanation, column + gap);
  int phase = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (blank(all[i])) continue;
    const ExplainedRound& round = explanation.rounds[i];
    if (round.phase != phase) text += ChunkNames(explanation.header).phase(round.phase) + "\n";
    phase = round.phase;
    const std::string label = round_label(explanation, round);
    text += fits(gap) ? row(label, all[i], column + gap) : list(label, all[i], width);
    const bool last = i + 1 == all.size() || rows.notes[i + 1] != rows.notes[i] ||
                      explanation.rounds[i + 1].phase != phase;
    if (last && !rows.notes[i].empty()) text += "     " + rows.notes[i] + "\n";
  }
  return text;
}

std::string totals_text(const Explanation& explanation, std::size_t width) {
  if (explanation.rounds.empty() || explanation.header.ranks == 1) return {};
  const std::string what = explanation.sizes ? "bytes" : "elements";
  const bool same =
      std::all_of(explanation.rounds.begin(), explanation.rounds.end(), [](const auto& round) {
        return std::count(round.totals.begin(), round.totals.end(), round.totals.front()) ==
               static_cast<std::ptrdiff_t>(round.totals.size());
      });
  RoundRows rows{.title = "Messages and " + what + " sent by then"};
  std::string text = "\nMessages and " + what + " that every rank has sent by then\n";
  int phase = -1;
  for (const ExplainedRound& round : explanation.rounds) {
    if (round.phase != phase) text += ChunkNames(explanation.header).phase(round.phase) + "\n";
    phase = round.phase;
    const RankTotal& first = round.totals.front();
    text += round_label(explanation, round) +
            total_text(explanation, first, first.messages == 1 ? " message, " : " messages, ") +
            "\n";
    rows.rows.emplace_back();
    for (const RankTotal& total : round.totals)
      rows.rows.back().push_back(total_text(explanation, total, " "));
  }
  if (same) return text;
  rows.notes.resize(rows.rows.size());
  return round_table(explanation, rows, width);
}

}  // namespace rondo::tool
