#include "tools/rondo/page/svg_clock.h"

#include <algorithm>

#include "tools/rondo/page/svg_place.h"

namespace rondo::tool {
namespace {

// All in seconds.
constexpr double lead = 1.4;       ///< before the first round
constexpr double rest = 3.2;       ///< after the last one
constexpr double phase_gap = 0.5;  ///< before a new phase
constexpr double longest_round = 1.6;
constexpr double shortest_round = 0.7;
constexpr double all_rounds = 30;  ///< that many rounds share, unless they would be too short
constexpr double fade = 0.15;

}  // namespace

SvgClock::SvgClock(const std::vector<ExplainedRound>& rounds)
    : length_(std::clamp(all_rounds / static_cast<double>(rounds.size()), shortest_round,
                         longest_round)) {
  double now = lead;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (i > 0 && rounds[i].phase != rounds[i - 1].phase) now += phase_gap;
    begins_.push_back(now);
    now += length_;
  }
  begins_.push_back(now);
  seconds_ = now + rest;
}

std::string SvgClock::percent(double time) const {
  return svg_number(100 * time / seconds_, "%.2f") + "%";
}

void SvgClock::add_rule(const std::string& of, const std::string& frames) {
  rules_ += "\n@keyframes " + of + "{" + frames + "}." + of + "{animation:" + of + " " +
            svg_number(seconds_, "%.2f") + "s linear infinite}";
}

std::string SvgClock::shown(double from, double to) {
  if (from < 0 && to < 0) return "";
  const auto [found, added] = shown_.try_emplace({from, to}, "s" + std::to_string(shown_.size()));
  if (!added) return found->second;
  std::string frames = "0%";
  if (from >= 0) frames += "," + percent(from) + "{opacity:0}" + percent(from + fade);
  if (to >= 0)
    frames += "," + percent(to) + "{opacity:1}" + percent(to + fade) + ",to{opacity:0}";
  else
    frames += ",to{opacity:1}";
  add_rule(found->second, frames);
  if (to >= 0) rules_ += "." + found->second + "{opacity:0}";
  return found->second;
}

std::string SvgClock::held(std::size_t begin, std::size_t end) {
  return shown(begin == 0 ? -1 : arrives(begin - 1), end >= begins_.size() ? -1 : arrives(end - 1));
}

std::string SvgClock::moves(std::size_t round) {
  const std::string of = "m" + std::to_string(round);
  const std::string at_a = "transform:translate(var(--a))}";
  const std::string at_b = "transform:translate(var(--b))}";
  add_rule(of, "0%," + percent(begins(round)) + "{opacity:0;" + at_a +
                   percent(begins(round) + 0.12 * length_) +
                   "{opacity:1;animation-timing-function:ease-in-out;" + at_a +
                   percent(arrives(round)) + "{opacity:1;" + at_b + percent(arrives(round) + fade) +
                   ",to{opacity:0;" + at_b);
  return of;
}

}  // namespace rondo::tool
