// Small plots as SVG documents: shapes, words and axes in pixels from the upper left corner.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::plot {

struct Point {
  double x, y;
};

/// A document that grows by shapes; later ones lie on top. Text becomes safe for XML.
class Svg {
 public:
  void rectangle(Point corner, double width, double height, std::string_view fill,
                 std::string_view stroke = "none");
  /// `dashes`: as stroke-dasharray has them; empty: none.
  void line(Point from, Point to, std::string_view colour, std::string_view dashes = "");
  void curve(const std::vector<Point>& points, std::string_view colour);
  void dot(Point centre, double radius, std::string_view colour);
  /// `anchor`: start, middle or end, which is where `place` is.
  void text(Point place, std::string_view words, std::string_view anchor = "start",
            std::string_view weight = "normal");
  /// A square of the colour, and words beside it.
  void key(Point corner, std::string_view colour, std::string_view words);

  /// The whole document. `background`: a colour, or none; `ink`: of the words.
  std::string document(double width, double height, std::string_view title,
                       std::string_view background = "none", std::string_view ink = "#888") const;

 private:
  std::string shapes_{};
};

/// Maps values from [low, high] to [from, to] pixels, along a line or a logarithm. Values beyond the
/// ends lie at the ends.
struct Scale {
  double low, high, from, to;
  bool logarithmic = false;

  double at(double value) const;
};

}  // namespace rondo::plot
