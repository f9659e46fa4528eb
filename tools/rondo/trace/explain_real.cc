#include "tools/rondo/trace/explain_real.h"

#include <map>

#include "tools/rondo/explain/names.h"
#include "tools/rondo/explain/text.h"
#include "tools/rondo/trace/findings.h"
#include "tools/rondo/trace/real.h"
#include "tools/rondo/trace/summary.h"

namespace rondo::tool {
namespace {

class RealTables {
 public:
  RealTables(const TracedCall& call, std::size_t width)
      : call_(call), real_(real_run(call)), names_(real_.explanation.header), width_(width) {}

  std::string text() {
    RoundRows sent{.title = "What each rank sends, to whom, and when it begins (us)"};
    RoundRows received{.title =
                           "What each rank then has received, from whom, and when it is in "
                           "place (us)"};
    for (std::size_t i = 0; i < real_.messages.size(); ++i) {
      sent.rows.emplace_back(ranks());
      received.rows.emplace_back(ranks());
      for (std::size_t k = 0; k < real_.messages[i].size(); ++k)
        add(real_.explanation.rounds[i].messages[k], real_.messages[i][k], sent.rows.back(),
            received.rows.back());
    }
    RoundRows waits = call_.direct ? RoundRows() : waiting();
    for (RoundRows* rows : {&sent, &received, &waits}) rows->notes.resize(rows->rows.size());
    const Explanation& explanation = real_.explanation;
    return round_table(explanation, sent, width_) + round_table(explanation, received, width_) +
           round_table(explanation, waits, width_) + totals_text(explanation, width_);
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(real_.schedule.ranks); }

  static void append(Cells& cells, int rank, const std::string& words) {
    std::string& cell = cells[static_cast<std::size_t>(rank)];
    cell += (cell.empty() ? "" : " ") + words;
  }

  void add(const ExplainedMessage& message, const RealMessage& moved, Cells& sent,
           Cells& received) {
    const std::string pieces = names_.pieces(message.pieces);
    const auto when = [&](std::int64_t time) {
      return moved.there ? "@" + microseconds(time) : std::string("@-");
    };
    append(sent, message.from, pieces + ">" + std::to_string(message.to) + when(moved.begin));
    append(received, message.to, pieces + "<" + std::to_string(message.from) + when(moved.settled));
  }

  /// Waits are shown by the labels of ops. The wait for a piece that is sent on belongs to the
  /// round in which it is received.
  RoundRows waiting() {
    RoundRows rows{.title = "How long each rank waited, and for which late ranks (us)"};
    std::map<std::pair<int, int>, std::size_t> round_of;
    for (const ExplainedRound& round : real_.explanation.rounds) {
      round_of[{round.phase, static_cast<int>(round.round)}] = rows.rows.size();
      rows.rows.emplace_back(ranks());
    }
    for (std::size_t rank = 0; rank < call_.ranks.size(); ++rank) {
      std::map<std::size_t, std::pair<std::int64_t, std::map<int, std::int64_t>>> waits;
      for (const Work& work : call_.ranks[rank].work) {
        if (work.kind != Work::Kind::op || work.waited() <= 0) continue;
        const auto at = round_of.find({work.phase, work.round});
        if (at == round_of.end()) continue;
        auto& [waited, late] = waits[at->second];
        waited += work.waited();
        if (work.late >= 0) late[work.late] += work.late_for;
      }
      for (const auto& [row, wait] : waits) {
        std::string words = microseconds(wait.first);
        for (const auto& [peer, time] : wait.second)
          words += " " + std::to_string(peer) + ":" + microseconds(time);
        append(rows.rows[row], static_cast<int>(rank), words);
      }
    }
    return rows;
  }

  const TracedCall& call_;
  RealRun real_;
  ChunkNames names_;
  std::size_t width_;
};

}  // namespace

std::string explain_real(const TracedCall& call, std::size_t width) {
  const std::string tables = RealTables(call, width).text();
  return call_text(call) + tables;
}

}  // namespace rondo::tool
