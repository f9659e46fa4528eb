#include "tools/rondo/page/svg_place.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr double margin = 14;
constexpr double room = 30;  ///< between two boxes
constexpr double least_width = 720;
constexpr double least_height = 360;
constexpr double host_side = 12;  ///< from ranks to the edge of their host
constexpr double host_head = 30;  ///< the same above them, with its name

}  // namespace

std::string svg_number(double value, const char* form) {
  std::string digits = format(form, value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

std::string svg_rectangle(Point corner, double width, double height) {
  return "M" + svg_number(corner.x) + " " + svg_number(corner.y) + "h" + svg_number(width) + "v" +
         svg_number(height) + "h" + svg_number(-width) + "z";
}

SvgPlace::SvgPlace(int ranks, int chunks, std::set<std::pair<int, int>> pairs,
                   const std::vector<ShownHost>& hosts)
    : ranks_(ranks),
      chunks_(chunks),
      pairs_(std::move(pairs)),
      pitch_(std::clamp(std::floor(112.0 / chunks), 7.0, 26.0)),
      box_{std::max(76.0, chunks * pitch_ + 16), bar_height + (names_chunks() ? 38 : 28)} {
  if (hosts.empty())
    stand_on_ring();
  else
    stand_in_hosts(hosts);
}

void SvgPlace::stand_on_ring() {
  Point radius{(least_width - panel - margin - box_.x) / 2, (least_height - box_.y) / 2 - margin};
  while (!apart(radius)) radius = {radius.x * 1.03, radius.y * 1.03};
  width_ = std::ceil(panel + 2 * radius.x + box_.x + margin);
  height_ = std::ceil(2 * (radius.y + margin) + box_.y);
  middle_ = {width_ - margin - box_.x / 2 - radius.x, height_ / 2};
  for (int rank = 0; rank < ranks_; ++rank) centres_.push_back(on_ring(rank, radius));
}

void SvgPlace::stand_in_hosts(const std::vector<ShownHost>& hosts) {
  centres_ = host_places(hosts);
  Point most;
  for (Point& at : centres_) {
    at = {host_panel + host_side + (at.x - 0.5) * (box_.x + room) + box_.x / 2,
          margin + host_head + (at.y - 0.5) * (box_.y + room) + box_.y / 2};
    most = {std::max(most.x, at.x), std::max(most.y, at.y)};
  }
  width_ = std::ceil(most.x + box_.x / 2 + host_side + margin);
  const double least = most.y + box_.y / 2 + host_side + margin;
  height_ = std::ceil(std::max(least, least_height));
  for (Point& at : centres_) at.y += (height_ - least) / 2;
}

std::pair<Point, Point> SvgPlace::host(const std::vector<int>& ranks) const {
  Point low = centre(ranks.front());
  Point high = low;
  for (const int rank : ranks) {
    const Point at = centre(rank);
    low = {std::min(low.x, at.x), std::min(low.y, at.y)};
    high = {std::max(high.x, at.x), std::max(high.y, at.y)};
  }
  return {{low.x - box_.x / 2 - host_side, low.y - box_.y / 2 - host_head},
          {high.x + box_.x / 2 + host_side, high.y + box_.y / 2 + host_side}};
}

/// Two ranks stand side by side.
Point SvgPlace::on_ring(int rank, Point radius) const {
  const double start = ranks_ == 2 ? -std::numbers::pi : -std::numbers::pi / 2;
  const double angle = start + 2 * std::numbers::pi * rank / ranks_;
  return {middle_.x + radius.x * std::cos(angle), middle_.y + radius.y * std::sin(angle)};
}

bool SvgPlace::apart(Point radius) const {
  for (int a = 0; a < ranks_; ++a)
    for (int b = 0; b < a; ++b) {
      const Point p = on_ring(a, radius);
      const Point q = on_ring(b, radius);
      if (std::abs(p.x - q.x) < box_.x + room && std::abs(p.y - q.y) < box_.y + room) return false;
    }
  return true;
}

Point SvgPlace::bar(int rank, int chunk) const {
  const Point at = centre(rank);
  return {at.x + (chunk - chunks_ / 2.0) * pitch_ + (pitch_ - bar_width()) / 2,
          at.y - box_.y / 2 + 21};
}

std::pair<Point, Point> SvgPlace::arrow(int from, int to) const {
  const Point a = centre(from);
  const Point b = centre(to);
  const Point way{b.x - a.x, b.y - a.y};
  const double inside = std::min((box_.x / 2 + 5) / std::max(std::abs(way.x), 1e-9),
                                 (box_.y / 2 + 5) / std::max(std::abs(way.y), 1e-9));
  const double aside = pairs_.contains({to, from}) ? 8 / std::hypot(way.x, way.y) : 0;
  const Point shift{-way.y * aside, way.x * aside};
  return {{a.x + way.x * inside + shift.x, a.y + way.y * inside + shift.y},
          {b.x - way.x * inside + shift.x, b.y - way.y * inside + shift.y}};
}

}  // namespace rondo::tool
