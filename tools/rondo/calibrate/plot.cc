#include "tools/rondo/calibrate/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr double panel_width = 460;
constexpr double panel_height = 340;
constexpr double margin = 56;
constexpr double gap = 36;

std::string number(double value) { return format("%.1f", value); }

std::string escaped(const std::string& text) {
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

std::string time_text(double seconds) {
  if (seconds < 1e-6) return format("%g ns", seconds * 1e9);
  return seconds < 1e-3 ? format("%g us", seconds * 1e6) : format("%g ms", seconds * 1e3);
}

/// The logarithmic axes of one panel, wide enough for all that it shows.
class Panel {
 public:
  Panel(double left, const std::string& title) : left_(left), title_(title) {}

  void hold(const Curve& curve) {
    for (const Knot& knot : curve) {
      low_x_ = std::min(low_x_, knot.bytes);
      high_x_ = std::max(high_x_, knot.bytes);
      low_y_ = std::min(low_y_, std::max(1e-9, knot.seconds.low));
      high_y_ = std::max(high_y_, knot.seconds.high);
    }
  }

  void axes() {
    svg_ += "<rect x='" + number(left_) + "' y='" + number(margin) + "' width='" +
            number(panel_width) + "' height='" + number(panel_height) +
            "' fill='none' stroke='#888'/>";
    text(left_ + panel_width / 2, margin - 14, title_, "middle", "bold");
    for (double at = std::exp2(std::ceil(std::log2(low_x_))); at <= high_x_ * 1.001; at *= 16) {
      line(x(at), margin, x(at), margin + panel_height, "#ddd", "");
      text(x(at), margin + panel_height + 16, bytes_text(at), "middle", "normal");
    }
    for (double at = std::pow(10, std::ceil(std::log10(low_y_))); at <= high_y_ * 1.001; at *= 10) {
      line(left_, y(at), left_ + panel_width, y(at), "#ddd", "");
      text(left_ - 6, y(at) + 4, time_text(at), "end", "normal");
    }
  }

  /// Draws medians joined by lines, and quartiles as bars.
  void samples(const Curve& curve, const std::string& colour, const std::string& what) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const Knot& knot = curve[i];
      const double at = x(knot.bytes);
      line(at, y(knot.seconds.low), at, y(knot.seconds.high), colour, "");
      svg_ += "<circle cx='" + number(at) + "' cy='" + number(y(knot.seconds.median)) +
              "' r='3' fill='" + colour + "'/>";
      if (i + 1 < curve.size())
        line(at, y(knot.seconds.median), x(curve[i + 1].bytes), y(curve[i + 1].seconds.median),
             colour, "");
    }
    legend(colour, what);
  }

  void straight(double alpha, double beta, const std::string& colour, const std::string& what) {
    constexpr int pieces = 64;
    double before = low_x_;
    for (int i = 1; i <= pieces; ++i) {
      const double at = low_x_ * std::pow(high_x_ / low_x_, static_cast<double>(i) / pieces);
      line(x(before), y(alpha + before * beta), x(at), y(alpha + at * beta), colour, "4 3");
      before = at;
    }
    legend(colour, what);
  }

  const std::string& svg() const { return svg_; }

 private:
  double x(double bytes) const {
    return left_ +
           panel_width * std::log(bytes / low_x_) / std::max(1e-9, std::log(high_x_ / low_x_));
  }
  double y(double seconds) const {
    const double bounded = std::clamp(seconds, low_y_, high_y_);
    return margin + panel_height * (1 - std::log(bounded / low_y_) /
                                            std::max(1e-9, std::log(high_y_ / low_y_)));
  }
  void line(double x1, double y1, double x2, double y2, const std::string& colour,
            const std::string& dashes) {
    svg_ += "<line x1='" + number(x1) + "' y1='" + number(y1) + "' x2='" + number(x2) + "' y2='" +
            number(y2) + "' stroke='" + colour + "'" +
            (dashes.empty() ? "" : " stroke-dasharray='" + dashes + "'") + "/>";
  }
  void text(double at_x, double at_y, const std::string& words, const std::string& anchor,
            const std::string& weight) {
    svg_ += "<text x='" + number(at_x) + "' y='" + number(at_y) + "' text-anchor='" + anchor +
            "' font-weight='" + weight + "'>" + escaped(words) + "</text>";
  }
  void legend(const std::string& colour, const std::string& what) {
    const double at = margin + 18 + 16 * entries_++;
    svg_ += "<rect x='" + number(left_ + 10) + "' y='" + number(at - 9) +
            "' width='10' height='10' fill='" + colour + "'/>";
    text(left_ + 26, at, what, "start", "normal");
  }

  double left_;
  std::string title_;
  double low_x_ = 1e18;
  double high_x_ = 1;
  double low_y_ = 1e9;
  double high_y_ = 1e-9;
  int entries_ = 0;
  std::string svg_{};
};

std::string link_panel(const LinkProfile& link, double left) {
  Panel panel(left, link.transport + ", " + link.where());
  for (const Curve* curve : {&link.one_way, &link.exchange, &link.combining, &link.fetch})
    panel.hold(*curve);
  panel.axes();
  panel.samples(link.one_way, "#1f77b4", "one way");
  panel.samples(link.exchange, "#d62728", "two all_gathers round a ring");
  panel.samples(link.combining, "#9467bd", "two reduce_scatters round a ring");
  if (!link.fetch.empty()) panel.samples(link.fetch, "#2ca02c", "all_gather, the direct path");
  const double beta = straight_beta(link.exchange, link.alpha.median);
  panel.straight(
      link.alpha.median, beta, "#d6272888",
      format("alpha %s + n %.3g ns/B", time_text(link.alpha.median).c_str(), beta * 1e9));
  return panel.svg();
}

std::string gamma_panel(const std::vector<GammaProfile>& gammas, double left) {
  static constexpr std::array colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                      "#ff7f0e", "#8c564b", "#e377c2", "#17becf"};
  Panel panel(left, "reducing two vectors, each core its own");
  for (const GammaProfile& gamma : gammas) panel.hold(gamma.reduces);
  if (!gammas.empty()) panel.hold(gammas.front().copies);
  panel.axes();
  if (!gammas.empty()) panel.samples(gammas.front().copies, "#7f7f7f", "copy");
  for (std::size_t i = 0; i < std::min(gammas.size(), colours.size()); ++i)
    panel.samples(gammas[i].reduces, colours[i],
                  std::string(name(gammas[i].type)) + " " + std::string(name(gammas[i].op)));
  return panel.svg();
}

}  // namespace

double straight_beta(const Curve& curve, double alpha) {
  // Least squares of (alpha + n beta) / T - 1: weights 1 / T^2.
  double above = 0;
  double below = 0;
  for (const Knot& knot : curve) {
    const double time = std::max(1e-12, knot.seconds.median);
    above += knot.bytes * (time - alpha) / (time * time);
    below += knot.bytes * knot.bytes / (time * time);
  }
  return below > 0 ? std::max(0.0, above / below) : 0;
}

std::string plot_svg(const Profile& profile) {
  std::string panels;
  double left = margin + 24;
  for (const LinkProfile& link : profile.links) {
    panels += link_panel(link, left);
    left += panel_width + gap + margin;
  }
  if (!profile.gammas.empty()) {
    panels += gamma_panel(profile.gammas, left);
    left += panel_width + gap + margin;
  }
  const double height = panel_height + 2 * margin + 20;
  return "<svg xmlns='http://www.w3.org/2000/svg' width='" + number(left) + "' height='" +
         number(height) +
         "' font-family='sans-serif' font-size='11'><rect width='100%' "
         "height='100%' fill='white'/>" +
         panels + "<text x='" + number(margin) + "' y='" + number(height - 14) + "'>" +
         escaped("seconds of a call by its bytes; " + profile.machine.cpu + ", " +
                 std::to_string(profile.machine.cores) + " cores, Linux " + profile.machine.kernel +
                 ", " + profile.date) +
         "</text></svg>\n";
}

}  // namespace rondo::tool
