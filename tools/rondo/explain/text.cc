// The explanation as text.
#include "tools/rondo/explain/text.h"

#include <algorithm>

#include "core/schedule/collective.h"
#include "tools/rondo/explain/names.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr int most_columns = 8;  ///< ranks beyond are summed up

class Renderer {
 public:
  Renderer(const Explanation& explanation, std::size_t width)
      : it_(explanation), header_(explanation.header), names_(header_), width_(width) {}

  std::string text(const CostFormulas& cost) {
    heading();
    if (it_.detailed && header_.ranks <= most_columns) {
      for (int lane = 0; lane < header_.lanes; ++lane) this->lane(lane);
      complete_chunks();
      if (!it_.inputs.empty()) text_ += values_text(it_, width_);
      text_ += totals_text(it_, width_);
      outputs();
    } else {
      phases();
    }
    text_ += cost_table(it_, cost, width_);
    findings();
    return std::move(text_);
  }

 private:
  bool token() const { return is_token(header_.collective); }

  // ---- what it is about ----

  void heading() {
    text_ += std::string(name(header_.collective)) + " by " +
             (header_.algorithm.empty() ? "an unnamed schedule" : header_.algorithm) + ", " +
             counted(header_.ranks, "rank");
    if (info(header_.collective).has_root) text_ += ", root " + std::to_string(header_.root);
    text_ += "\n";
    if (!it_.hosts.empty()) text_ += wrapped("", host_words(it_.hosts), 2, width_);
    if (!token()) index_space();
    if (header_.ranks > most_columns || header_.ranks == 1) return;
    text_ += token() ? "t01 is a token that has heard of ranks 0 and 1, t* of all\n"
             : names_.letters()
                 ? "a01 is chunk a with the contributions of ranks 0 and 1, a* of all ranks\n"
                 : "5:01 is chunk 5 with the contributions of ranks 0 and 1, 5:* of all ranks\n";
  }

  void index_space() {
    const int chunks = header_.layout.chunks();
    std::string line = "in " + counted(static_cast<std::size_t>(chunks), "chunk");
    if (names_.letters()) line += " a" + (chunks == 1 ? "" : " to " + names_.chunk(chunks - 1));
    if (header_.lanes > 1) line += ", " + std::to_string(header_.lanes) + " lanes";
    text_ += wrapped(it_.sizes ? sized_elements() : "N elements", {line}, 2, width_);
    if (it_.sizes) text_ += chunk_ranges();
  }

  /// "10 elements of float32 (40 B)", or by blocks.
  std::string sized_elements() const {
    const std::size_t all = partition_of(it_).elements();
    const std::size_t bytes = size_of(it_.sizes->type);
    const std::string of = " of " + std::string(name(it_.sizes->type));
    const std::string whole = " (" + size_text(static_cast<double>(all * bytes)) + ")";
    if (is_vector(header_.collective)) return counted(all, "element") + of + whole;
    return counted(static_cast<std::size_t>(header_.layout.blocks), "block") + " of " +
           counted(it_.sizes->count, "element") + of + whole;
  }

  std::string chunk_ranges() const {
    const Partition partition = partition_of(it_);
    const int chunks = header_.layout.chunks();
    if (header_.ranks > most_columns || !names_.letters()) {
      std::size_t least = partition.size(0);
      std::size_t most = least;
      for (int chunk = 1; chunk < chunks; ++chunk) {
        least = std::min(least, partition.size(chunk));
        most = std::max(most, partition.size(chunk));
      }
      return "chunks of " + (least == most ? "" : std::to_string(least) + " to ") +
             counted(most, "element") + "\n";
    }
    std::vector<std::string> words;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const std::size_t begin = partition.offset(chunk);
      const std::size_t end = partition.offset(chunk + 1);
      std::string word = names_.chunk(chunk) + " ";
      word += begin == end ? "none" : std::to_string(begin);
      if (end > begin + 1) word += "-" + std::to_string(end - 1);
      words.push_back(word + (chunk + 1 < chunks ? "," : ""));
    }
    return wrapped("elements:", words, std::string("elements: ").size(), width_);
  }

  // ---- what happens ----

  void lane(int lane) {
    const std::string suffix = header_.lanes > 1 ? " in lane " + std::to_string(lane) : "";
    RoundRows sent{.title = "What each rank sends" + suffix};
    RoundRows results{.title = "What each rank then has received, reduced or copied" + suffix};
    for (const ExplainedRound& round : it_.rounds) {
      sent.rows.emplace_back(static_cast<std::size_t>(header_.ranks));
      results.rows.emplace_back(static_cast<std::size_t>(header_.ranks));
      const int shift = common_shift(round, lane);
      sent.notes.push_back(shift > 0 ? "(each rank sends to " + shifted(shift) + ")" : "");
      for (const ExplainedMessage& message : round.messages) {
        if (message.lane != lane) continue;
        const std::string whereto = shift > 0 ? "" : ">" + std::to_string(message.to);
        append(sent.rows.back(), message.from, names_.pieces(message.pieces) + whereto);
      }
      for (const ExplainedResult& result : round.results)
        if (result.lane == lane)
          append(results.rows.back(), result.rank, names_.pieces(result.pieces));
    }
    results.notes.resize(results.rows.size());
    text_ += round_table(it_, sent, width_) + round_table(it_, results, width_);
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
      if (shift != 0 && each != shift) return 0;
      shift = each;
      ++sends[static_cast<std::size_t>(message.from)];
    }
    return std::count(sends.begin(), sends.end(), 1) == header_.ranks ? shift : 0;
  }

  /// Between the phases of a reduction: where sums are whole, which tables often get wrong.
  void complete_chunks() {
    if (!info(header_.collective).reduces || header_.ranks == 1) return;
    std::vector<std::vector<Piece>> complete(static_cast<std::size_t>(header_.ranks));
    for (std::size_t i = 0; i < it_.rounds.size(); ++i) {
      for (const ExplainedResult& result : it_.rounds[i].results)
        add_complete(result, complete[static_cast<std::size_t>(result.rank)]);
      const bool ends = i + 1 < it_.rounds.size() && it_.rounds[i + 1].phase != it_.rounds[i].phase;
      if (ends) complete_after(it_.rounds[i].phase, complete);
    }
  }

  void add_complete(const ExplainedResult& result, std::vector<Piece>& complete) const {
    for (const Piece& piece : result.pieces) {
      const auto same = [&](const Piece& known) { return known.chunk == piece.chunk; };
      if (names_.complete(piece) && std::none_of(complete.begin(), complete.end(), same))
        complete.push_back(piece);
    }
  }

  void complete_after(int phase, const std::vector<std::vector<Piece>>& complete) {
    std::vector<std::string> words;
    for (std::size_t rank = 0; rank < complete.size(); ++rank) {
      if (complete[rank].empty()) continue;
      if (!words.empty()) words.back() += ",";
      std::string chunks;
      for (const Piece& piece : complete[rank]) chunks += " " + names_.chunk(piece.chunk);
      words.push_back("rank " + std::to_string(rank) + (words.empty() ? " has" : "") + chunks);
    }
    if (words.empty()) return;
    const std::string first = "Complete after " + names_.phase(phase) + ":";
    text_ += "\n" + wrapped(first, words, 2, width_);
  }

  void outputs() {
    text_ += "\nOutput at the end\n";
    for (std::size_t rank = 0; rank < it_.outputs.size(); ++rank) {
      if (it_.outputs[rank].empty()) continue;
      std::vector<std::string> words;
      for (const Piece& piece : it_.outputs[rank]) words.push_back(names_.pieces({piece}));
      const std::string start = "  rank " + std::to_string(rank) + ":";
      text_ += wrapped(start, words, start.size() + 1, width_);
    }
  }

  // ---- many ranks ----

  /// Beyond a table's width: one line for each phase.
  void phases() {
    std::size_t longest = 20;
    for (const std::string& phase : header_.phases) longest = std::max(longest, phase.size());
    const int column = static_cast<int>(longest);
    text_ += format("\n%-*s %7s %11s   %s\n", column, "Phase", "rounds", "messages",
                    "busiest rank sends");
    std::vector<RankTotal> before(it_.totals.size());
    for (std::size_t i = 0; i < it_.rounds.size();) {
      std::size_t end = i;
      std::uint64_t messages = 0;
      for (; end < it_.rounds.size() && it_.rounds[end].phase == it_.rounds[i].phase; ++end)
        messages += it_.rounds[end].message_count;
      const std::vector<RankTotal>& after = it_.rounds[end - 1].totals;
      text_ += format("%-*s %7zu %11llu   %s\n", column, names_.phase(it_.rounds[i].phase).c_str(),
                      end - i, static_cast<unsigned long long>(messages),
                      busiest_text(before, after).c_str());
      before = after;
      i = end;
    }
    text_ += "(rounds" + std::string(it_.inputs.empty() ? "" : " and values") +
             " are shown one by one for up to " + std::to_string(most_columns) + " ranks)\n";
  }

  std::string busiest_text(const std::vector<RankTotal>& before,
                           const std::vector<RankTotal>& after) const {
    RankTotal most;
    for (std::size_t rank = 0; rank < after.size(); ++rank) {
      most.messages = std::max(most.messages, after[rank].messages - before[rank].messages);
      most.sent = std::max(most.sent, after[rank].sent - before[rank].sent);
      most.bytes = std::max(most.bytes, after[rank].bytes - before[rank].bytes);
    }
    return counted(most.messages, "message") + ", " +
           (it_.sizes ? size_text(static_cast<double>(most.bytes)) : number_text(most.sent) + " N");
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
  ChunkNames names_;
  std::size_t width_;
  std::string text_{};
};

}  // namespace

std::string render(const Explanation& explanation, const CostFormulas& cost, std::size_t width) {
  return Renderer(explanation, width).text(cost);
}

}  // namespace rondo::tool
