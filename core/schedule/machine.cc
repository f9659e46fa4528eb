#include "core/schedule/machine.h"

#include "rondo/error.h"

namespace rondo {
namespace {

constexpr std::size_t most_sentences = 8;

std::string where(const Blocked& blocked) {
  return "rank " + std::to_string(blocked.rank) + " lane " + std::to_string(blocked.lane);
}

std::string sentence(const Blocked& blocked, const Schedule& header, const LineOf& line_of) {
  std::string words = where(blocked);
  switch (blocked.on) {
    case Blocked::On::message:
      words += " waits to receive from " + std::to_string(blocked.peer);
      if (blocked.peer_ended) words += ", which has ended,";
      break;
    case Blocked::On::room:
      words += " waits to send to " + std::to_string(blocked.peer) + " (channel full";
      words += blocked.peer_ended ? ", and the receiver has ended)" : ")";
      break;
    case Blocked::On::dependency:
      words += " waits for an op of another lane";
      break;
  }
  return words + " in " + phase_text(header, blocked.phase, blocked.round) + ", step " +
         std::to_string(blocked.index) +
         line_text(line_of, blocked.rank, blocked.lane, blocked.index);
}

class Stuck {
 public:
  Stuck(const Outcome& outcome, const Schedule& header) : header_(header) {
    for (const Blocked& blocked : outcome.blocked)
      by_cursor_[key(blocked.rank, blocked.lane)] = &blocked;
  }

  /// The blocked cursors of a wait cycle, in waiting order; empty when there is none.
  std::vector<const Blocked*> cycle() const {
    std::unordered_map<std::uint64_t, std::uint64_t> seen;  // cursor -> walk that met it
    std::uint64_t walk = 0;
    for (const auto& [start, unused] : by_cursor_) {
      ++walk;
      std::uint64_t at = start;
      while (by_cursor_.contains(at) && seen.emplace(at, walk).second) at = next(at);
      if (by_cursor_.contains(at) && seen.at(at) == walk) return around(at);
    }
    return {};
  }

 private:
  std::uint64_t key(int rank, int lane) const {
    return static_cast<std::uint64_t>(rank) * static_cast<std::uint64_t>(header_.lanes) +
           static_cast<std::uint64_t>(lane);
  }
  std::uint64_t next(std::uint64_t at) const {
    const Blocked& blocked = *by_cursor_.at(at);
    return blocked.peer < 0 ? ~std::uint64_t{0} : key(blocked.peer, blocked.lane);
  }
  std::vector<const Blocked*> around(std::uint64_t from) const {
    std::uint64_t lowest = from;
    for (std::uint64_t at = next(from); at != from; at = next(at)) lowest = std::min(lowest, at);
    std::vector<const Blocked*> ring{by_cursor_.at(lowest)};
    for (std::uint64_t at = next(lowest); at != lowest; at = next(at))
      ring.push_back(by_cursor_.at(at));
    return ring;
  }

  const Schedule& header_;
  std::unordered_map<std::uint64_t, const Blocked*> by_cursor_{};
};

std::string join(const std::vector<const Blocked*>& all, const Schedule& header,
                 const LineOf& line_of) {
  std::string words;
  for (std::size_t i = 0; i < all.size() && i < most_sentences; ++i)
    words += (i == 0 ? "" : "; ") + sentence(*all[i], header, line_of);
  if (all.size() > most_sentences)
    words += "; and " + std::to_string(all.size() - most_sentences) + " more";
  return words;
}

}  // namespace

std::vector<std::string> describe(const Outcome& outcome, const Schedule& header,
                                  const LineOf& line_of) {
  std::vector<std::string> problems;
  if (!outcome.completed) {
    const std::vector<const Blocked*> cycle = Stuck(outcome, header).cycle();
    std::vector<const Blocked*> all;
    for (const Blocked& blocked : outcome.blocked) all.push_back(&blocked);
    problems.push_back(cycle.empty() ? "stuck: " + join(all, header, line_of)
                                     : "wait cycle at depth " + std::to_string(header.depth) +
                                           ": " + join(cycle, header, line_of));
  }
  for (const LeftOver& left : outcome.left_over)
    problems.push_back(std::to_string(left.messages) + " message(s) from rank " +
                       std::to_string(left.from) + " to rank " + std::to_string(left.to) +
                       " lane " + std::to_string(left.lane) + " were never received");
  return problems;
}

void throw_two_messages(const Site& site, int peer) {
  throw Error(ErrorCode::invalid_argument,
              "lane " + std::to_string(site.lane) + " op " + std::to_string(site.index) +
                  " takes two messages of one channel at once",
              {.rank = site.rank, .peer = peer});
}

}  // namespace rondo
