#include "tools/rondo/step/view.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/schedule/collective.h"
#include "tools/rondo/explain/holdings.h"
#include "tools/rondo/explain/names.h"
#include "tools/rondo/format.h"

namespace rondo::tool::step {
namespace {

constexpr std::size_t gap = 2;

constexpr std::array help_lines{
    "right, n, Enter   next round",
    "left, b           previous round",
    "Home, End         start, end",
    "g                 go to a round: its number, Enter",
    "space             play, pause; + and - change the speed",
    "Tab, Shift-Tab    follow the next, the previous rank; r: by number",
    "down, up          follow the next, the previous chunk; c: by name",
    "Esc               follow nothing",
    "v                 numbers or contributions (with --values)",
    "q                 quit",
};

/// The consecutive ranks or chunks that fit on the screen, the followed one among them.
struct Window {
  std::size_t first = 0;
  std::size_t count = 0;

  Window(std::size_t all, std::size_t fits, std::optional<int> followed)
      : count(std::min(all, std::max<std::size_t>(fits, 1))) {
    const auto at = static_cast<std::size_t>(followed.value_or(0));
    if (at >= count) first = std::min(at - count / 2, all - count);
  }
};

class View {
 public:
  View(const Explanation& explanation, const State& state, Size size)
      : it_(explanation), header_(it_.header), state_(state), size_(size), names_(header_) {}

  std::vector<Line> lines() {
    title();
    if (state_.help) {
      add("");
      for (const char* line : help_lines) add(line);
    } else {
      below();
      holdings_table();
      for (const Line& line : below_) lines_.push_back(line);
    }
    lines_.resize(std::min(lines_.size(), size_.lines - 1));
    while (lines_.size() + 1 < size_.lines) add("");
    lines_.push_back({last_line(), Style::keys});
    for (Line& line : lines_) line.text.resize(std::min(line.text.size(), size_.columns));
    return std::move(lines_);
  }

 private:
  void add(std::string text, Style style = Style::plain) {
    lines_.push_back({std::move(text), style});
  }

  const ExplainedRound* round() const {
    return state_.round == 0 ? nullptr : &it_.rounds[state_.round - 1];
  }

  void title() {
    std::string what = std::string(name(header_.collective)) + " by " +
                       (header_.algorithm.empty() ? "an unnamed schedule" : header_.algorithm) +
                       ", " + std::to_string(header_.ranks) + " ranks";
    if (info(header_.collective).has_root) what += ", root " + std::to_string(header_.root);
    add(what, Style::title);
    if (!it_.hosts.empty()) {
      std::string where = wrapped("", host_words(it_.hosts), 0, std::string::npos);
      where.pop_back();
      add(where);
    }
    std::string where = "round " + std::to_string(state_.round) + " of " +
                        std::to_string(it_.rounds.size()) + ": " +
                        (round() == nullptr ? "the beginning"
                                            : names_.phase(round()->phase) + ", its round " +
                                                  std::to_string(round()->round + 1));
    if (state_.playing)
      where += "  (playing, " + number_text(1000.0 / static_cast<double>(period(state_).count())) +
               " rounds/s)";
    add(where, Style::heading);
    if (!it_.findings.empty()) add("WRONG: " + it_.findings.front());
    add("");
  }

  // ---- which rank holds what ----

  std::string cell(const Holding& holding, int chunk) const {
    const Piece& piece = holding.piece;
    if (piece.chunk < 0) return ".";
    std::string words = state_.numbers ? elements_text(piece.numbers) : names_.short_list(piece);
    // It lies in the place of another chunk, so its name is shown.
    if (!state_.numbers && piece.chunk != chunk) words = names_.pieces({piece});
    if (words.empty()) words = "-";
    return holding.fresh ? "[" + words + "]" : words;
  }

  /// The width of the widest cell of any round, so that nothing jumps from round to round.
  std::size_t column_width() const {
    std::size_t width = 1;
    const auto widen = [&](const Piece& piece, int chunk) {
      width = std::max(width, cell({piece, Buffer::output, true}, chunk).size());
    };
    for (const ExplainedRound& each : it_.rounds)
      for (const ExplainedResult& result : each.results)
        for (std::size_t i = 0; i < result.pieces.size(); ++i)
          widen(result.pieces[i],
                result.buffer == Buffer::scratch
                    ? result.pieces[i].chunk
                    : static_cast<int>(result.into.first + i) % header_.layout.chunks());
    if (state_.numbers)
      for (const auto& rank : holdings(it_, 0))
        for (const Holding& each : rank)
          if (each.piece.chunk >= 0) widen(each.piece, each.piece.chunk);
    return std::max(width, rank_name(header_.ranks - 1, true).size());
  }

  static std::string rank_name(int rank, bool followed) {
    return (followed ? ">rank " : "rank ") + std::to_string(rank);
  }

  std::string chunk_name(int chunk) const {
    return (state_.chunk == chunk ? ">" : " ") + names_.chunk(chunk);
  }

  /// The heading of the first column.
  std::string chunk_heading() const { return is_token(header_.collective) ? "token" : "chunk"; }

  void holdings_table() {
    const std::string legend =
        state_.numbers
            ? "What each rank holds, as numbers; [..] written in this round"
            : "What each rank holds (01: of ranks 0 and 1, *: all, *-2: all but 2, [..]: new)";
    add(legend, Style::heading);
    const auto chunks = static_cast<std::size_t>(header_.layout.chunks());
    const std::size_t label =
        std::max(chunk_heading().size(), chunk_name(header_.layout.chunks() - 1).size()) + gap;
    const auto all_ranks = static_cast<std::size_t>(header_.ranks);
    std::size_t column = column_width() + gap;
    if (label + all_ranks * column > size_.columns + gap) --column;  // closer where that helps
    const Window ranks(all_ranks, (size_.columns + 1 - label) / column, state_.rank);
    const std::size_t used = lines_.size() + below_.size() + 3;  // ranks, hidden ones, keys
    const std::size_t fits = size_.lines > used ? size_.lines - used : 1;
    const Window rows(chunks, fits, state_.chunk);
    ranks_line(label, column, ranks);
    const auto all = holdings(it_, state_.round);
    for (std::size_t chunk = rows.first; chunk < rows.first + rows.count; ++chunk) {
      std::string line = padded(chunk_name(static_cast<int>(chunk)), label);
      for (std::size_t rank = ranks.first; rank < ranks.first + ranks.count; ++rank)
        line += padded(cell(all[rank][chunk], static_cast<int>(chunk)), column);
      add(trimmed(line));
    }
    hidden(ranks, rows, chunks);
  }

  void ranks_line(std::size_t label, std::size_t column, const Window& ranks) {
    std::string line = padded(chunk_heading(), label);
    for (std::size_t rank = ranks.first; rank < ranks.first + ranks.count; ++rank) {
      const int number = static_cast<int>(rank);
      line += padded(rank_name(number, state_.rank == number), column);
    }
    add(trimmed(line));
  }

  void hidden(const Window& ranks, const Window& rows, std::size_t chunks) {
    std::string words;
    if (ranks.count < static_cast<std::size_t>(header_.ranks))
      words += "of " + std::to_string(header_.ranks) + " ranks (Tab)";
    if (rows.count < chunks)
      words += (words.empty() ? "of " : ", ") + std::to_string(chunks) + " chunks (down, up)";
    add(words);
  }

  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  // ---- what moves ----

  bool concerns(const ExplainedMessage& message) const {
    if (state_.rank && message.from != *state_.rank && message.to != *state_.rank) return false;
    return !state_.chunk || carries(message, *state_.chunk);
  }

  static bool carries(const ExplainedMessage& message, int chunk) {
    return std::any_of(message.pieces.begin(), message.pieces.end(),
                       [&](const Piece& piece) { return piece.chunk == chunk; });
  }

  std::string message_text(const ExplainedMessage& message) const {
    return std::to_string(message.from) + "->" + std::to_string(message.to) + " " +
           names_.pieces(message.pieces);
  }

  std::vector<std::string> wrapped_lines(const std::vector<std::string>& words) const {
    std::string text = wrapped(" ", words, 2, size_.columns);
    std::vector<std::string> lines;
    for (std::size_t end = text.find('\n'); !text.empty(); end = text.find('\n')) {
      lines.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
    return lines;
  }

  /// Adds words below the table, wrapped and cut to `most` lines.
  void below_words(const std::string& heading, const std::vector<std::string>& words,
                   std::size_t most) {
    below_.push_back({heading, Style::heading});
    std::vector<std::string> lines = wrapped_lines(words);
    if (lines.size() > most) {
      lines.resize(most);
      lines.back() = "  ..";
    }
    for (const std::string& line : lines) below_.push_back({line, Style::plain});
  }

  void below() {
    const std::size_t most = std::max<std::size_t>(1, size_.lines / 8);
    messages(most);
    if (state_.chunk) journey(most);
    below_.push_back({totals(), Style::plain});
  }

  void messages(std::size_t most) {
    if (round() == nullptr) {
      below_.push_back({"Nothing has moved yet.", Style::heading});
      return;
    }
    std::vector<std::string> words;
    for (const ExplainedMessage& message : round()->messages)
      if (concerns(message)) words.push_back(message_text(message) + ";");
    if (words.empty()) words.emplace_back("none");
    if (words.back().back() == ';') words.back().pop_back();
    std::string heading = "Messages of this round";
    if (state_.rank) heading += " from and to rank " + std::to_string(*state_.rank);
    if (state_.chunk) heading += " with chunk " + names_.chunk(*state_.chunk);
    below_words(heading, words, most);
  }

  /// Shows where the followed chunk went. If there are too many moves, it shows the last ones.
  void journey(std::size_t most) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < state_.round; ++i) {
      std::string moves;
      for (const ExplainedMessage& message : it_.rounds[i].messages) {
        if (!carries(message, *state_.chunk)) continue;
        const auto piece =
            std::find_if(message.pieces.begin(), message.pieces.end(),
                         [&](const Piece& each) { return each.chunk == *state_.chunk; });
        moves += " " + std::to_string(message.from) + "->" + std::to_string(message.to) + "(" +
                 names_.contributors(*piece) + ")";
      }
      if (!moves.empty()) words.push_back(std::to_string(i + 1) + ":" + moves + ";");
    }
    if (words.empty()) words.emplace_back("not moved yet");
    if (words.back().back() == ';') words.back().pop_back();
    while (words.size() > 1 && wrapped_lines(words).size() > most) {
      words.erase(words.begin());
      words.front() = (words.front().starts_with(".. ") ? "" : ".. ") + words.front();
    }
    below_words("Chunk " + names_.chunk(*state_.chunk) + " so far, by round", words, most);
  }

  std::string total_text(const RankTotal& total) const {
    return std::to_string(total.messages) + (total.messages == 1 ? " message, " : " messages, ") +
           (it_.sizes ? size_text(static_cast<double>(total.bytes))
                      : number_text(total.sent) + " N");
  }

  std::string totals() const {
    if (round() == nullptr) return {};
    const std::vector<RankTotal>& all = round()->totals;
    if (state_.rank)
      return "Sent by then: rank " + std::to_string(*state_.rank) + " " +
             total_text(all[static_cast<std::size_t>(*state_.rank)]);
    if (std::count(all.begin(), all.end(), all.front()) == static_cast<std::ptrdiff_t>(all.size()))
      return "Sent by then: every rank " + total_text(all.front());
    const auto busiest = std::max_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.sent < b.sent; });
    return "Sent by then: at most (rank " + std::to_string(busiest - all.begin()) + ") " +
           total_text(*busiest);
  }

  // ---- the last line ----

  std::string last_line() const {
    if (state_.help) return "any key: back";
    const auto ask = [&](const std::string& what, const std::string& range) {
      return what + " (" + range + "): " + state_.typed + "_";
    };
    switch (state_.prompt) {
      case Prompt::round:
        return ask("go to round", "0 to " + std::to_string(it_.rounds.size()));
      case Prompt::rank:
        return ask("follow rank", "0 to " + std::to_string(header_.ranks - 1));
      case Prompt::chunk:
        return ask("follow chunk",
                   names_.chunk(0) + " to " + names_.chunk(header_.layout.chunks() - 1));
      case Prompt::none:
        break;
    }
    if (!state_.notice.empty()) return state_.notice;
    constexpr std::string_view all =
        "q quit  ? keys  left right  g go to  space play + -  Tab rank  down chunk";
    constexpr std::string_view some = "q quit  ? keys  left right  space play";
    return std::string(all.size() <= size_.columns ? all : some);
  }

  const Explanation& it_;
  const Schedule& header_;
  const State& state_;
  Size size_;
  ChunkNames names_;
  std::vector<Line> lines_{};
  std::vector<Line> below_{};
};

}  // namespace

std::vector<Line> view(const Explanation& explanation, const State& state, Size size) {
  if (size.columns < least_size.columns || size.lines < least_size.lines) {
    std::string words = "too small: " + std::to_string(least_size.columns) + "x" +
                        std::to_string(least_size.lines) + " needed";
    words.resize(std::min(words.size(), size.columns));
    return {{words, Style::plain}};
  }
  return View(explanation, state, size).lines();
}

}  // namespace rondo::tool::step
