// The explanation as text.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/schedule/collective.h"
#include "core/schedule/explain.h"
#include "core/schedule/formula.h"
#include "core/schedule/op.h"

namespace rondo {
namespace {

constexpr int most_columns = 8;  ///< ranks beyond are summed up
constexpr int letters = 26;
constexpr std::size_t wide_gap = 2;  ///< between columns; 1 where that is too wide

using Cells = std::vector<std::string>;  ///< one per rank

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// Appends `words` to `text`, which is cut into lines of `width`; later ones are indented.
std::string wrapped(const std::string& first, const std::vector<std::string>& words,
                    std::size_t indent, std::size_t width) {
  std::string text = first;
  std::size_t column = first.size();
  for (const std::string& word : words) {
    if (column + 1 + word.size() > width && column > indent) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      text += " ";
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + "\n";
}

class Renderer {
 public:
  Renderer(const Explanation& explanation, const CostFormulas& cost, std::size_t width)
      : it_(explanation), header_(explanation.header), cost_(cost), width_(width) {}

  std::string text() {
    heading();
    if (it_.detailed && header_.ranks <= most_columns) {
      for (int lane = 0; lane < header_.lanes; ++lane) this->lane(lane);
      totals();
      outputs();
    } else {
      phases();
    }
    costs();
    findings();
    return std::move(text_);
  }

 private:
  // ---- names of chunks and values ----

  bool token() const { return is_token(header_.collective); }

  std::string chunk_name(int chunk) const {
    if (token()) return "t";
    if (header_.layout.chunks() <= letters) return std::string(1, static_cast<char>('a' + chunk));
    return std::to_string(chunk) + ":";
  }

  std::string contributors(const Piece& piece) const {
    if (header_.ranks > 1 && piece.contributors.size() == static_cast<std::size_t>(header_.ranks))
      return "*";
    std::string digits;
    for (const int rank : piece.contributors) digits += std::to_string(rank);
    return digits;
  }

  /// Runs of chunks with the same contributors: "d0", "bc03", "g-b*" (wrapping).
  std::string pieces_text(const std::vector<Piece>& pieces) const {
    std::string words;
    for (std::size_t i = 0; i < pieces.size();) {
      std::size_t end = i + 1;
      while (end < pieces.size() && pieces[end].contributors == pieces[i].contributors &&
             pieces[end].chunk == (pieces[end - 1].chunk + 1) % header_.layout.chunks())
        ++end;
      if (!words.empty()) words += ",";
      words += run_text(pieces, i, end);
      i = end;
    }
    return words;
  }

  std::string run_text(const std::vector<Piece>& pieces, std::size_t begin, std::size_t end) const {
    if (pieces[begin].chunk < 0) return "?";
    std::string names = chunk_name(pieces[begin].chunk);
    if (end - begin > 3)
      names += "-" + chunk_name(pieces[end - 1].chunk);
    else
      for (std::size_t i = begin + 1; i < end; ++i) names += chunk_name(pieces[i].chunk);
    return names + contributors(pieces[begin]);
  }

  // ---- sections ----

  void heading() {
    text_ += std::string(name(header_.collective)) + " by " +
             (header_.algorithm.empty() ? "an unnamed schedule" : header_.algorithm) + ", " +
             std::to_string(header_.ranks) + (header_.ranks == 1 ? " rank" : " ranks");
    if (info(header_.collective).has_root) text_ += ", root " + std::to_string(header_.root);
    text_ += "\n";
    const int chunks = header_.layout.chunks();
    if (!token()) {
      text_ += "N elements in " + std::to_string(chunks) + (chunks == 1 ? " chunk" : " chunks");
      if (chunks <= letters)
        text_ += chunks == 1 ? " a" : std::string(" a to ") + static_cast<char>('a' + chunks - 1);
      text_ += header_.lanes > 1 ? ", " + std::to_string(header_.lanes) + " lanes\n" : "\n";
    }
    if (header_.ranks > most_columns || header_.ranks == 1) return;
    text_ += token() ? "t01 is a token that has heard of ranks 0 and 1, t* of all\n"
             : chunks <= letters
                 ? "a01 is chunk a with the contributions of ranks 0 and 1, a* of all ranks\n"
                 : "5:01 is chunk 5 with the contributions of ranks 0 and 1, 5:* of all ranks\n";
  }

  void lane(int lane) {
    const std::string suffix = header_.lanes > 1 ? " in lane " + std::to_string(lane) : "";
    std::vector<Cells> sent;
    std::vector<Cells> results;
    std::vector<std::string> notes;
    for (const ExplainedRound& round : it_.rounds) {
      sent.emplace_back(static_cast<std::size_t>(header_.ranks));
      results.emplace_back(static_cast<std::size_t>(header_.ranks));
      const int shift = common_shift(round, lane);
      notes.push_back(shift > 0 ? "(each rank sends to " + shifted(shift) + ")" : "");
      for (const ExplainedMessage& message : round.messages)
        if (message.lane == lane)
          append(sent.back(), message.from,
                 pieces_text(message.pieces) + (shift > 0 ? "" : ">" + std::to_string(message.to)));
      for (const ExplainedResult& result : round.results)
        if (result.lane == lane) append(results.back(), result.rank, pieces_text(result.pieces));
    }
    table("What each rank sends" + suffix, sent, notes);
    notes.assign(notes.size(), "");
    table("What each rank then has received, reduced or copied" + suffix, results, notes);
  }

  /// "rank + 1", "rank - 1" past the middle.
  std::string shifted(int shift) const {
    if (2 * shift <= header_.ranks) return "rank + " + std::to_string(shift);
    return "rank - " + std::to_string(header_.ranks - shift);
  }

  static void append(Cells& cells, int rank, const std::string& words) {
    std::string& cell = cells[static_cast<std::size_t>(rank)];
    cell += (cell.empty() ? "" : " ") + words;
  }

  /// k when every message of the round goes from r to r + k, each rank sending one; else 0.
  int common_shift(const ExplainedRound& round, int lane) const {
    int shift = 0;
    std::vector<int> sends(static_cast<std::size_t>(header_.ranks));
    for (const ExplainedMessage& message : round.messages) {
      if (message.lane != lane) continue;
      const int each = (message.to - message.from + header_.ranks) % header_.ranks;
      if (shift != 0 && shift != each) return 0;
      shift = each;
      ++sends[static_cast<std::size_t>(message.from)];
    }
    return std::count(sends.begin(), sends.end(), 1) == header_.ranks ? shift : 0;
  }

  static bool blank(const Cells& cells) {
    return std::all_of(cells.begin(), cells.end(), [](const auto& cell) { return cell.empty(); });
  }

  /// One row for each round, under its phase's name; as lists where it would be too wide.
  void table(const std::string& title, const std::vector<Cells>& rows,
             const std::vector<std::string>& notes) {
    if (std::all_of(rows.begin(), rows.end(), blank)) return;
    text_ += "\n" + title + "\n";
    std::size_t column = std::string("rank 0").size();
    for (const Cells& cells : rows)
      for (const std::string& cell : cells) column = std::max(column, cell.size());
    const std::size_t label = label_width();
    const auto fits = [&](std::size_t gap) {
      return label + static_cast<std::size_t>(header_.ranks) * (column + gap) <= width_ + gap;
    };
    const std::size_t gap = fits(wide_gap) ? wide_gap : 1;
    if (fits(gap)) ranks_line(label, column + gap);
    int phase = -1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (blank(rows[i])) continue;
      const ExplainedRound& round = it_.rounds[i];
      if (round.phase != phase) text_ += phase_name(round.phase) + "\n";
      phase = round.phase;
      const std::string number_text = padded("  " + std::to_string(round.round + 1), label);
      if (fits(gap))
        row(number_text, rows[i], column + gap);
      else
        list(number_text, rows[i]);
      if (!notes[i].empty() &&
          (i + 1 == rows.size() || notes[i + 1] != notes[i] || it_.rounds[i + 1].phase != phase))
        text_ += "     " + notes[i] + "\n";
    }
  }

  std::size_t label_width() const {
    std::uint32_t most = 0;
    for (const ExplainedRound& round : it_.rounds) most = std::max(most, round.round + 1);
    return 2 + std::to_string(most).size() + wide_gap;
  }

  void ranks_line(std::size_t label, std::size_t column) {
    Cells names;
    for (int rank = 0; rank < header_.ranks; ++rank)
      names.push_back("rank " + std::to_string(rank));
    row(std::string(label, ' '), names, column);
  }

  void row(const std::string& label, const Cells& cells, std::size_t column) {
    std::string line = label;
    for (const std::string& cell : cells) line += padded(cell.empty() ? "." : cell, column);
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + "\n";
  }

  void list(const std::string& label, const Cells& cells) {
    std::string first = label;
    for (std::size_t rank = 0; rank < cells.size(); ++rank) {
      if (cells[rank].empty()) continue;
      std::vector<std::string> words;
      for (std::size_t at = 0; at < cells[rank].size();) {
        const std::size_t end = std::min(cells[rank].find(' ', at), cells[rank].size());
        words.push_back(cells[rank].substr(at, end - at));
        at = end + 1;
      }
      const std::string start = first + "rank " + std::to_string(rank) + ":";
      text_ += wrapped(start, words, start.size() + 1, width_);
      first = std::string(label.size(), ' ');
    }
  }

  std::string phase_name(int phase) const {
    const auto index = static_cast<std::size_t>(phase);
    return index < header_.phases.size() ? header_.phases[index]
                                         : "phase " + std::to_string(phase + 1);
  }

  static std::string total_text(const RankTotal& total, const char* between) {
    return std::to_string(total.messages) + between + number(total.sent) + "N";
  }

  static const char* total_words(const RankTotal& total) {
    return total.messages == 1 ? " message, " : " messages, ";
  }

  /// Running totals; one column where all ranks have the same.
  void totals() {
    if (it_.rounds.empty() || header_.ranks == 1) return;
    const bool same = std::all_of(it_.rounds.begin(), it_.rounds.end(), [](const auto& round) {
      return std::count(round.totals.begin(), round.totals.end(), round.totals.front()) ==
             static_cast<std::ptrdiff_t>(round.totals.size());
    });
    if (same) {
      text_ += "\nMessages and elements that every rank has sent by then\n";
      int phase = -1;
      for (const ExplainedRound& round : it_.rounds) {
        if (round.phase != phase) text_ += phase_name(round.phase) + "\n";
        phase = round.phase;
        text_ += padded("  " + std::to_string(round.round + 1), label_width()) +
                 total_text(round.totals.front(), total_words(round.totals.front())) + "\n";
      }
      return;
    }
    std::vector<Cells> rows;
    for (const ExplainedRound& round : it_.rounds) {
      rows.emplace_back();
      for (const RankTotal& total : round.totals) rows.back().push_back(total_text(total, " "));
    }
    table("Messages and elements sent by then", rows, std::vector<std::string>(rows.size()));
  }

  void outputs() {
    text_ += "\nOutput at the end\n";
    for (std::size_t rank = 0; rank < it_.outputs.size(); ++rank) {
      if (it_.outputs[rank].empty()) continue;
      std::vector<std::string> words;
      for (const Piece& piece : it_.outputs[rank]) words.push_back(pieces_text({piece}));
      const std::string start = "  rank " + std::to_string(rank) + ":";
      text_ += wrapped(start, words, start.size() + 1, width_);
    }
  }

  /// Beyond a table's width: one line for each phase.
  void phases() {
    text_ += "\nPhase                 rounds    messages   busiest rank sends\n";
    std::vector<RankTotal> before(it_.totals.size());
    for (std::size_t i = 0; i < it_.rounds.size();) {
      std::size_t end = i;
      std::uint64_t messages = 0;
      for (; end < it_.rounds.size() && it_.rounds[end].phase == it_.rounds[i].phase; ++end)
        messages += it_.rounds[end].message_count;
      RankTotal busiest;
      const std::vector<RankTotal>& after = it_.rounds[end - 1].totals;
      for (std::size_t rank = 0; rank < after.size(); ++rank) {
        busiest.messages = std::max(busiest.messages, after[rank].messages - before[rank].messages);
        busiest.sent = std::max(busiest.sent, after[rank].sent - before[rank].sent);
      }
      before = after;
      char line[128];
      std::snprintf(line, sizeof line, "%-20s %7zu %11llu   %llu messages, %s N\n",
                    phase_name(it_.rounds[i].phase).c_str(), end - i,
                    static_cast<unsigned long long>(messages),
                    static_cast<unsigned long long>(busiest.messages),
                    number(busiest.sent).c_str());
      text_ += line;
      i = end;
    }
    text_ += "(rounds are shown one by one for up to " + std::to_string(most_columns) + " ranks)\n";
  }

  static std::string with_value(std::string_view formula, const Variables& variables,
                                const std::string& unit) {
    if (formula.empty()) return {};
    const std::string value = number(evaluate(formula, variables)) + unit;
    if (formula.find_first_not_of("0123456789.") == std::string_view::npos) return value;
    return std::string(formula) + unit + " = " + value;
  }

  void cost_row(const std::string& label, std::string_view formula, double counted,
                std::string_view bound, const std::string& unit) {
    const Variables variables = cost_variables(header_.ranks);
    std::string line = padded(label, 14);
    if (!cost_.rounds.empty()) line += padded(with_value(formula, variables, unit), 32);
    line += padded(it_.findings.empty() ? number(counted) + unit : "-", 10);
    line += with_value(bound, variables, unit);
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + "\n";
  }

  void costs() {
    const CostFormulas least = lower_bound(header_.collective);
    const CostCounts& counts = it_.counts;
    text_ += "\n" + padded("Busiest rank", 14);
    if (!cost_.rounds.empty()) text_ += padded("cost line", 32);
    text_ += padded("counted", 10) + "lower bound\n";
    cost_row("rounds", cost_.rounds, counts.rounds, least.rounds, "");
    cost_row("hops", cost_.hops, counts.hops, least.hops, "");
    cost_row("sent", cost_.sent, counts.sent, least.sent, " N");
    cost_row("received", cost_.received, counts.received, least.received, " N");
    cost_row("reduced", cost_.reduced, counts.reduced, least.reduced, " N");
    text_ += "P = " + std::to_string(header_.ranks) +
             " ranks, q = ceil(log2 P) = " + number(cost_variables(header_.ranks).at("q")) +
             "; hops: messages that must follow each other\n";
  }

  void findings() {
    if (it_.findings.empty()) {
      text_ += "Verified: every output is right, nothing can wait for ever.\n";
      return;
    }
    text_ += "\nThis schedule is wrong:\n";
    for (const std::string& finding : it_.findings) text_ += "  " + finding + "\n";
  }

  const Explanation& it_;
  const Schedule& header_;
  CostFormulas cost_;
  std::size_t width_;
  std::string text_{};
};

}  // namespace

std::string render(const Explanation& explanation, const CostFormulas& cost, std::size_t width) {
  return Renderer(explanation, cost, width).text();
}

}  // namespace rondo
