// Where ranks, bars and arrows of an animated picture stand.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/rondo/page/host_places.h"

namespace rondo::tool {

/// "12.5", "3": as many digits as a coordinate or a percentage needs.
std::string svg_number(double value, const char* form = "%.1f");

/// A rectangle as a part of a path.
std::string svg_rectangle(Point corner, double width, double height);

/// Ranks stand to the right of a column of text: in their hosts, or on an ellipse, clockwise from the
/// top. The picture grows with them: between any two boxes there is room for a message.
class SvgPlace {
 public:
  static constexpr double panel = 228;       ///< the column of text
  static constexpr double host_panel = 320;  ///< likewise; compositions have long names
  static constexpr double left = 20;         ///< where its lines begin
  static constexpr double bar_height = 48;

  /// `hosts`: none where they are not shown.
  SvgPlace(int ranks, int chunks, std::set<std::pair<int, int>> pairs,
           const std::vector<ShownHost>& hosts);

  double width() const { return width_; }
  double height() const { return height_; }
  Point box() const { return box_; }
  /// Bars are wide enough for a name beneath.
  bool names_chunks() const { return pitch_ >= 10; }
  double bar_width() const { return pitch_ - (pitch_ >= 10 ? 4 : 2); }

  Point centre(int rank) const { return centres_[static_cast<std::size_t>(rank)]; }
  /// The upper left and the lower right corner of a host with these ranks.
  std::pair<Point, Point> host(const std::vector<int>& ranks) const;
  /// The upper left corner of a chunk's bar.
  Point bar(int rank, int chunk) const;
  /// The arrow from edge to edge of two boxes, moved to the right where messages also return.
  std::pair<Point, Point> arrow(int from, int to) const;
  const std::set<std::pair<int, int>>& pairs() const { return pairs_; }

 private:
  void stand_on_ring();
  void stand_in_hosts(const std::vector<ShownHost>& hosts);
  Point on_ring(int rank, Point radius) const;
  bool apart(Point radius) const;

  int ranks_;
  int chunks_;
  std::set<std::pair<int, int>> pairs_;  ///< that exchange messages: from, to
  double pitch_;
  Point box_;
  Point middle_{};
  double width_ = 0;
  double height_ = 0;
  std::vector<Point> centres_{};
};

}  // namespace rondo::tool
