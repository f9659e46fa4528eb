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

SvgPlace::SvgPlace(int ranks, int chunks, std::set<std::pair<int, int>> pairs)
    : ranks_(ranks),
      chunks_(chunks),
      pairs_(std::move(pairs)),
      pitch_(std::clamp(std::floor(112.0 / chunks), 7.0, 26.0)),
      box_{std::max(76.0, chunks * pitch_ + 16), bar_height + (names_chunks() ? 38 : 28)} {
  Point radius{(least_width - panel - margin - box_.x) / 2, (least_height - box_.y) / 2 - margin};
  while (!apart(radius)) radius = {radius.x * 1.03, radius.y * 1.03};
  width_ = std::ceil(panel + 2 * radius.x + box_.x + margin);
  height_ = std::ceil(2 * (radius.y + margin) + box_.y);
  middle_ = {width_ - margin - box_.x / 2 - radius.x, height_ / 2};
  for (int rank = 0; rank < ranks_; ++rank) centres_.push_back(on_ring(rank, radius));
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
