#include "tools/plot/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace rondo::plot {
namespace {

std::string pixels(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '<' || letter == '&') {
      safe += letter == '<' ? "&lt;" : "&amp;";
    } else {
      safe += letter;
    }
  }
  return safe;
}

/// One attribute, as in ` fill='none'`.
std::string with(const char* name, std::string_view value) {
  return std::string(" ") + name + "='" + std::string(value) + "'";
}
std::string with(const char* name, double value) { return with(name, pixels(value)); }

}  // namespace

void Svg::rectangle(Point corner, double width, double height, std::string_view fill,
                    std::string_view stroke) {
  shapes_ += "<rect" + with("x", corner.x) + with("y", corner.y) + with("width", width) +
             with("height", height) + with("fill", fill) + with("stroke", stroke) + "/>\n";
}

void Svg::line(Point from, Point to, std::string_view colour, std::string_view dashes) {
  shapes_ += "<line" + with("x1", from.x) + with("y1", from.y) + with("x2", to.x) +
             with("y2", to.y) + with("stroke", colour) +
             (dashes.empty() ? "" : with("stroke-dasharray", dashes)) + "/>\n";
}

void Svg::curve(const std::vector<Point>& points, std::string_view colour) {
  std::string list;
  for (const Point& point : points) list += pixels(point.x) + "," + pixels(point.y) + " ";
  shapes_ += "<polyline" + with("fill", "none") + with("stroke", colour) +
             with("stroke-width", 1.5) + with("points", list) + "/>\n";
}

void Svg::dot(Point centre, double radius, std::string_view colour) {
  shapes_ += "<circle" + with("cx", centre.x) + with("cy", centre.y) + with("r", radius) +
             with("fill", colour) + "/>\n";
}

void Svg::text(Point place, std::string_view words, std::string_view anchor,
               std::string_view weight) {
  shapes_ += "<text" + with("x", place.x) + with("y", place.y) + with("text-anchor", anchor) +
             with("font-weight", weight) + ">" + escaped(words) + "</text>\n";
}

void Svg::key(Point corner, std::string_view colour, std::string_view words) {
  rectangle(corner, 10, 10, colour);
  text({corner.x + 16, corner.y + 9}, words);
}

std::string Svg::document(double width, double height, std::string_view title,
                          std::string_view background, std::string_view ink) const {
  return "<svg xmlns='http://www.w3.org/2000/svg'" + with("width", width) + with("height", height) +
         with("font-family", "sans-serif") + with("font-size", "11") + with("fill", ink) +
         ">\n<title>" + escaped(title) + "</title>\n" + "<rect width='100%' height='100%'" +
         with("fill", background) + "/>\n" + shapes_ + "</svg>\n";
}

double Scale::at(double value) const {
  const double bounded = std::clamp(value, low, high);
  const double span = logarithmic ? std::log(high / low) : high - low;
  const double way = logarithmic ? std::log(bounded / low) : bounded - low;
  return from + (to - from) * way / std::max(1e-9, span);
}

}  // namespace rondo::plot
