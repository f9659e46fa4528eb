#include "tools/rondo/page/svg.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/schedule/collective.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/explain/holdings.h"
#include "tools/rondo/explain/names.h"
#include "tools/rondo/format.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/page/svg_clock.h"
#include "tools/rondo/page/svg_place.h"

namespace rondo::tool {
namespace {

// The page's colours (theme.css, colours.js). The picture brings its own ground: a site's theme and
// the browser's can differ, and then text without a ground could not be read.
constexpr std::string_view style =
    "svg{--ground:#f6f5f1;--card:#fff;--ink:#1c2430;--quiet:#5a6472;--line:#c9cdd2;--empty:#e9ebee}"
    "@media (prefers-color-scheme:dark){svg{--ground:#14181d;--card:#1e242b;--ink:#e9ecef;"
    "--quiet:#a3adb8;--line:#414a54;--empty:#2c343d}}"
    "text{font:12px system-ui,-apple-system,\"Segoe UI\",\"Noto Sans\",sans-serif;fill:var(--ink)}"
    ".h{font-size:20px}.p{font-size:15px}.b{font-weight:600}.q{fill:var(--quiet)}"
    ".mid{text-anchor:middle}.light{fill:#fff}.dark{fill:#10161c}"
    ".ground{fill:var(--ground)}.box{fill:var(--card);stroke:var(--line)}.empty{fill:var(--empty)}"
    ".done{fill:none;stroke:var(--ink);stroke-width:1.3}.slot{fill:var(--line)}"
    ".dot,.tip{fill:var(--ink)}.link{fill:none;stroke:var(--line)}"
    ".go{fill:none;stroke:var(--ink);stroke-width:1.6}.m{opacity:0}.m rect{stroke:var(--ground)}"
    ".m text{font-size:11px;font-weight:600}.c0{fill:#47a}.c1{fill:#e86}.c2{fill:#283}"
    ".c3{fill:#cb4}.c4{fill:#6ce}.c5{fill:#a37}.c6{fill:#9ab}.c7{fill:#e67}";
constexpr std::string_view host_style =
    ".host{fill:var(--empty);fill-opacity:.5;stroke:var(--line)}.across{stroke:var(--quiet)}";
constexpr int colours = 8;
constexpr std::array light_text{true, false, true, false, false, true, false, false};

std::string num(double value) { return svg_number(value); }

std::string text_at(Point at, const std::string& classes, const std::string& words) {
  return "<text x=\"" + num(at.x) + "\" y=\"" + num(at.y) + "\" class=\"" + classes + "\">" +
         html_text(words) + "</text>\n";
}

std::string path(const std::string& classes, const std::string& d) {
  return "<path class=\"" + classes + "\" d=\"" + d + "\"/>\n";
}

std::set<std::pair<int, int>> pairs_of(const Explanation& explanation) {
  std::set<std::pair<int, int>> pairs;
  for (const ExplainedRound& round : explanation.rounds)
    for (const ExplainedMessage& message : round.messages) pairs.insert({message.from, message.to});
  return pairs;
}

class Animation {
 public:
  explicit Animation(const Explanation& explanation)
      : it_(explanation),
        header_(it_.header),
        names_(header_),
        ranks_(header_.ranks),
        chunks_(header_.layout.chunks()),
        blocks_(info(header_.collective).reduces || is_token(header_.collective) ? ranks_ : 1),
        place_(ranks_, chunks_, pairs_of(explanation), it_.hosts),
        clock_(it_.rounds) {}

  std::string svg() {
    hosts();
    links();
    boxes();
    bars();
    messages();
    panel_text();
    const std::string size = num(place_.width()) + "\" height=\"" + num(place_.height());
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " +
           num(place_.width()) + " " + num(place_.height()) + "\" role=\"img\">\n<title>" +
           html_text(title()) + "</title>\n<style>" + std::string(style) +
           std::string(it_.hosts.empty() ? "" : host_style) + clock_.rules() +
           "\n@media (prefers-reduced-motion:reduce){*{animation:none!important}}</style>\n"
           "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
           "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
           "<path class=\"tip\" d=\"M0 0l8 4-8 4z\"/></marker></defs>\n"
           "<rect class=\"ground\" width=\"" +
           size + "\" rx=\"12\"/>\n" + body_ + "</svg>\n";
  }

 private:
  std::string title() const {
    std::string words =
        std::string(name(header_.collective)) +
        (header_.algorithm.empty() ? "" : " by " + header_.algorithm) + ", " +
        std::to_string(ranks_) + " ranks" +
        (info(header_.collective).has_root ? ", root " + std::to_string(header_.root) : "");
    if (!it_.hosts.empty()) words += ",";
    for (const std::string& host : host_words(it_.hosts)) words += " " + host;
    return words;
  }

  void hosts() {
    for (const ShownHost& host : it_.hosts) {
      const auto [low, high] = place_.host(host.ranks);
      const double width = high.x - low.x;
      body_ += "<rect class=\"host\" x=\"" + num(low.x) + "\" y=\"" + num(low.y) + "\" width=\"" +
               num(width) + "\" height=\"" + num(high.y - low.y) + "\" rx=\"12\"/>\n";
      const bool fits = 7 * static_cast<double>(host.name.size()) < width - 24;
      body_ += text_at({low.x + 12, low.y + 19}, "b",
                       fits ? host.name : host.name.substr(0, host.name.find(" (")));
    }
  }

  void links() {
    std::map<std::string, std::string> all;
    for (const auto& [from, to] : place_.pairs())
      all[crosses(from, to) ? "link across" : "link"] += line(from, to);
    for (const auto& [classes, d] : all) body_ += path(classes, d);
    for (std::size_t i = 0; i < it_.rounds.size(); ++i) {
      std::set<std::pair<int, int>> once;
      for (const ExplainedMessage& message : it_.rounds[i].messages)
        once.insert({message.from, message.to});
      // A marker stands at the end of a path, so each arrow is one.
      body_ += "<g class=\"go " + clock_.shown(clock_.begins(i), clock_.arrives(i)) + "\">";
      for (const auto& [from, to] : once)
        body_ += "<path marker-end=\"url(#tip)\" d=\"" + line(from, to) + "\"/>";
      body_ += "</g>\n";
    }
  }
  /// From one host to another.
  bool crosses(int from, int to) const {
    for (const ShownHost& host : it_.hosts)
      if (std::ranges::binary_search(host.ranks, from))
        return !std::ranges::binary_search(host.ranks, to);
    return false;
  }
  std::string line(int from, int to) const {
    const auto [a, b] = place_.arrow(from, to);
    return "M" + num(a.x) + " " + num(a.y) + "L" + num(b.x) + " " + num(b.y);
  }

  void boxes() {
    std::string empty;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Point at = place_.centre(rank);
      const Point corner{at.x - place_.box().x / 2, at.y - place_.box().y / 2};
      body_ += "<rect class=\"box\" x=\"" + num(corner.x) + "\" y=\"" + num(corner.y) +
               "\" width=\"" + num(place_.box().x) + "\" height=\"" + num(place_.box().y) +
               "\" rx=\"8\"/>\n" +
               text_at({at.x, corner.y + 15}, "b mid", "rank " + std::to_string(rank));
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const Point bar = place_.bar(rank, chunk);
        empty += svg_rectangle(bar, place_.bar_width(), SvgPlace::bar_height);
        if (place_.names_chunks())
          body_ += text_at({bar.x + place_.bar_width() / 2, bar.y + SvgPlace::bar_height + 12},
                           "q mid", names_.chunk(chunk));
      }
    }
    body_ += path("empty", empty);
  }

  int colour_of(const Piece& piece) const {
    const bool by_sender = header_.collective == Collective::all_to_all;
    return (by_sender && !piece.contributors.empty() ? piece.contributors.front() : piece.chunk) %
           colours;
  }
  /// The colour of a block of a bar, or -1 where it is empty.
  int block_colour(const Piece& piece, int block) const {
    if (piece.chunk < 0) return -1;
    const bool filled = blocks_ == 1 || std::binary_search(piece.contributors.begin(),
                                                           piece.contributors.end(), block);
    return filled ? colour_of(piece) : -1;
  }
  bool finished(const Piece& piece, int rank, int chunk) const {
    const auto wanted = expected(header_, rank, chunk);
    if (!wanted || piece.chunk != wanted->source_chunk) return false;
    std::vector<int> ranks(static_cast<std::size_t>(wanted->ranks));
    std::iota(ranks.begin(), ranks.end(), wanted->first);
    return piece.contributors == ranks;
  }

  void bars() {
    std::vector<std::vector<std::vector<Holding>>> after;
    for (std::size_t rounds = 0; rounds <= it_.rounds.size(); ++rounds)
      after.push_back(holdings(it_, rounds));
    std::map<std::string, std::string> paths;  // by classes: those of a colour and a time are one
    /// `value` of a number of rounds: what is seen then; negative: nothing.
    const auto add = [&](const auto& value, const auto& name, const std::string& d) {
      for (std::size_t begin = 0; begin < after.size();) {
        std::size_t end = begin + 1;
        while (end < after.size() && value(end) == value(begin)) ++end;
        if (value(begin) >= 0) paths[name(value(begin)) + " " + clock_.held(begin, end)] += d;
        begin = end;
      }
    };
    const double height = SvgPlace::bar_height / blocks_;
    const double gap = blocks_ == 1 ? 0 : std::min(1.5, height / 4);
    const double width = place_.bar_width();
    for (int rank = 0; rank < ranks_; ++rank)
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const auto piece = [&](std::size_t rounds) -> const Piece& {
          const auto& held = after[rounds][static_cast<std::size_t>(rank)];
          return held[static_cast<std::size_t>(chunk)].piece;
        };
        const Point bar = place_.bar(rank, chunk);
        for (int block = 0; block < blocks_; ++block) {
          const double top = bar.y + SvgPlace::bar_height - (block + 1) * height + gap / 2;
          add([&](std::size_t rounds) { return block_colour(piece(rounds), block); },
              [](int colour) { return "c" + std::to_string(colour); },
              svg_rectangle({bar.x, top}, width, height - gap));
        }
        add([&](std::size_t rounds) { return finished(piece(rounds), rank, chunk) ? 0 : -1; },
            [](int) { return std::string("done"); },
            svg_rectangle({bar.x - 1, bar.y - 1}, width + 2, SvgPlace::bar_height + 2));
      }
    for (const auto& [classes, d] : paths) body_ += path(classes, d);
  }

  /// "a 0+3", "abc all", "5 chunks".
  std::string label(const std::vector<Piece>& pieces) const {
    const Piece& first = pieces.front();
    std::string chunks;
    for (const Piece& piece : pieces) {
      if (piece.chunk < 0) return "?";
      chunks += names_.prefix(piece.chunk);
      if (piece.contributors != first.contributors || chunks.size() > 6)
        return std::to_string(pieces.size()) + " chunks";
    }
    if (names_.complete(first)) return chunks + " all";
    if (first.contributors.size() > 3)
      return chunks + " " + std::to_string(first.contributors.size()) + " ranks";
    std::string ranks;
    for (const int rank : first.contributors)
      ranks += (ranks.empty() ? " " : "+") + std::to_string(rank);
    return chunks + ranks;
  }

  void messages() {
    for (std::size_t i = 0; i < it_.rounds.size(); ++i) {
      const std::string moves = clock_.moves(i);
      std::map<std::pair<int, int>, int> of_pair;
      for (const ExplainedMessage& message : it_.rounds[i].messages) {
        const auto [from, to] = place_.arrow(message.from, message.to);
        const double below = 19.0 * of_pair[{message.from, message.to}]++;
        const auto css = [&](Point at) { return num(at.x) + "px," + num(at.y + below) + "px"; };
        const std::string words = label(message.pieces);
        const double half = 3.4 * static_cast<double>(words.size()) + 7;
        const int colour = std::max(0, colour_of(message.pieces.front()));
        body_ +=
            "<g class=\"m " + moves + "\" style=\"--a:" + css(from) + ";--b:" + css(to) +
            "\"><rect class=\"c" + std::to_string(colour) + "\" x=\"" + num(-half) +
            "\" y=\"-9\" width=\"" + num(2 * half) + "\" height=\"18\" rx=\"9\"/>" +
            text_at({0, 4}, light_text[static_cast<std::size_t>(colour)] ? "mid light" : "mid dark",
                    words) +
            "</g>\n";
      }
    }
  }

  void panel_text() {
    const bool on_hosts = !it_.hosts.empty();
    std::string what = std::to_string(ranks_) + " ranks";
    if (on_hosts) what += " on " + std::to_string(it_.hosts.size()) + " hosts";
    if (info(header_.collective).has_root) what += ", root " + std::to_string(header_.root);
    std::string by = header_.algorithm;
    if (!on_hosts) by += (by.empty() ? "" : ", ") + what;
    body_ += text_at({SvgPlace::left, 38}, "b h", std::string(name(header_.collective)));
    body_ += text_at({SvgPlace::left, 58}, "q", by);
    if (on_hosts) body_ += text_at({SvgPlace::left, 76}, "q", what);
    captions();
    dots();
    legend();
  }

  void captions() {
    const std::vector<ExplainedRound>& rounds = it_.rounds;
    const std::size_t end = rounds.size();
    std::map<int, int> all;
    for (const ExplainedRound& round : rounds) ++all[round.phase];
    std::map<int, int> so_far;
    caption("the start", "nothing has been sent", -1, clock_.begins(0));
    for (std::size_t i = 0; i < end; ++i)
      caption(names_.phase(rounds[i].phase),
              "round " + std::to_string(++so_far[rounds[i].phase]) + " of " +
                  std::to_string(all[rounds[i].phase]),
              clock_.begins(i), clock_.begins(i + 1));
    caption("done", "after " + std::to_string(end) + (end == 1 ? " round" : " rounds"),
            clock_.begins(end), -1);
  }
  void caption(const std::string& first, const std::string& second, double from, double to) {
    body_ += "<g class=\"" + clock_.shown(from, to) + "\">" +
             text_at({SvgPlace::left, 104}, "b p", first) +
             text_at({SvgPlace::left, 124}, "q", second) + "</g>\n";
  }

  /// One for each round, filled when it begins.
  void dots() {
    const auto count = static_cast<double>(it_.rounds.size());
    const double pitch = std::min(18.0, (SvgPlace::panel - 2 * SvgPlace::left) / count);
    std::string empty;
    std::string filled;
    for (std::size_t i = 0; i < it_.rounds.size(); ++i) {
      const Point corner{SvgPlace::left + static_cast<double>(i) * pitch, 138};
      const std::string dot = svg_rectangle(corner, pitch * 0.75, 5);
      empty += dot;
      filled += path("dot " + clock_.shown(clock_.begins(i), -1), dot);
    }
    body_ += path("slot", empty) + filled;
  }

  void legend() {
    std::vector<std::string> lines{"One bar for each chunk."};
    if (is_token(header_.collective))
      lines = {"One block for each rank", "that was heard of."};
    else if (blocks_ > 1)
      lines.emplace_back("One block for each rank added.");
    lines.emplace_back("Outline: the result is complete.");
    double y = place_.height() - 18 - 16 * static_cast<double>(lines.size() - 1);
    for (const std::string& each : lines) {
      body_ += text_at({SvgPlace::left, y}, "q", each);
      y += 16;
    }
  }

  const Explanation& it_;
  const Schedule& header_;
  ChunkNames names_;
  int ranks_;
  int chunks_;
  int blocks_;  ///< of a bar: contributions that make a chunk complete
  SvgPlace place_;
  SvgClock clock_;
  std::string body_{};
};

void check_few(std::size_t count, std::size_t most, const std::string& what) {
  if (count > most)
    reject(std::to_string(count) + " " + what + " are too many for an animated picture",
           "at most " + std::to_string(most) + " with --svg; a page (--html) shows more");
}

}  // namespace

std::string animation_svg(const Schedule& schedule, const std::vector<ShownHost>& hosts) {
  check_few(static_cast<std::size_t>(schedule.ranks), most_animated_ranks, "ranks");
  check_few(static_cast<std::size_t>(schedule.layout.chunks()), most_animated_chunks, "chunks");
  const Explanation explanation = explain(schedule, {.hosts = hosts});
  if (!explanation.findings.empty())
    reject("the schedule is wrong: " + explanation.findings.front(),
           "`rondo verify --file` lists all that is wrong with it");
  std::size_t messages = 0;
  for (const ExplainedRound& round : explanation.rounds) messages += round.messages.size();
  check_few(messages, most_animated_messages, "messages");
  if (messages == 0) reject("no rank sends anything in this schedule", "two ranks or more");
  return Animation(explanation).svg();
}

}  // namespace rondo::tool
