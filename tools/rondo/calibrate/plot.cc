#include "tools/rondo/calibrate/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tools/plot/svg.h"
#include "tools/rondo/format.h"

namespace rondo::tool {
namespace {

constexpr double panel_width = 460;
constexpr double panel_height = 340;
constexpr double margin = 56;
constexpr double gap = 36;

std::string time_text(double seconds) {
  if (seconds < 1e-6) return format("%g ns", seconds * 1e9);
  return seconds < 1e-3 ? format("%g us", seconds * 1e6) : format("%g ms", seconds * 1e3);
}

/// The logarithmic axes of one panel, wide enough for all that it shows.
class Panel {
 public:
  Panel(plot::Svg& svg, double left, const std::string& title)
      : svg_(svg), left_(left), title_(title) {}

  void hold(const Curve& curve) {
    for (const Knot& knot : curve) {
      x_.low = std::min(x_.low, knot.bytes);
      x_.high = std::max(x_.high, knot.bytes);
      y_.low = std::min(y_.low, std::max(1e-9, knot.seconds.low));
      y_.high = std::max(y_.high, knot.seconds.high);
    }
  }

  void axes() {
    svg_.rectangle({left_, margin}, panel_width, panel_height, "none", "#888");
    svg_.text({left_ + panel_width / 2, margin - 14}, title_, "middle", "bold");
    for (double at = std::exp2(std::ceil(std::log2(x_.low))); at <= x_.high * 1.001; at *= 16) {
      svg_.line({x_.at(at), margin}, {x_.at(at), margin + panel_height}, "#ddd");
      svg_.text({x_.at(at), margin + panel_height + 16}, bytes_text(at), "middle");
    }
    for (double at = std::pow(10, std::ceil(std::log10(y_.low))); at <= y_.high * 1.001; at *= 10) {
      svg_.line({left_, y_.at(at)}, {left_ + panel_width, y_.at(at)}, "#ddd");
      svg_.text({left_ - 6, y_.at(at) + 4}, time_text(at), "end");
    }
  }

  /// Draws medians joined by lines, and quartiles as bars.
  void samples(const Curve& curve, const std::string& colour, const std::string& what) {
    std::vector<plot::Point> medians;
    for (const Knot& knot : curve) {
      const double at = x_.at(knot.bytes);
      svg_.line({at, y_.at(knot.seconds.low)}, {at, y_.at(knot.seconds.high)}, colour);
      medians.push_back({at, y_.at(knot.seconds.median)});
      svg_.dot(medians.back(), 3, colour);
    }
    svg_.curve(medians, colour);
    legend(colour, what);
  }

  void straight(double alpha, double beta, const std::string& colour, const std::string& what) {
    constexpr int pieces = 64;
    double before = x_.low;
    for (int i = 1; i <= pieces; ++i) {
      const double at = x_.low * std::pow(x_.high / x_.low, static_cast<double>(i) / pieces);
      svg_.line({x_.at(before), y_.at(alpha + before * beta)},
                {x_.at(at), y_.at(alpha + at * beta)}, colour, "4 3");
      before = at;
    }
    legend(colour, what);
  }

 private:
  void legend(const std::string& colour, const std::string& what) {
    svg_.key({left_ + 10, margin + 9 + 16 * entries_++}, colour, what);
  }

  plot::Svg& svg_;
  double left_;
  std::string title_;
  plot::Scale x_{1e18, 1, left_, left_ + panel_width, true};
  plot::Scale y_{1e9, 1e-9, margin + panel_height, margin, true};
  int entries_ = 0;
};

void link_panel(plot::Svg& svg, const LinkProfile& link, double left) {
  Panel panel(svg, left, link.transport + ", " + link.where());
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
}

void gamma_panel(plot::Svg& svg, const std::vector<GammaProfile>& gammas, double left) {
  static constexpr std::array colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                      "#ff7f0e", "#8c564b", "#e377c2", "#17becf"};
  Panel panel(svg, left, "reducing two vectors, each core its own");
  for (const GammaProfile& gamma : gammas) panel.hold(gamma.reduces);
  if (!gammas.empty()) panel.hold(gammas.front().copies);
  panel.axes();
  if (!gammas.empty()) panel.samples(gammas.front().copies, "#7f7f7f", "copy");
  for (std::size_t i = 0; i < std::min(gammas.size(), colours.size()); ++i)
    panel.samples(gammas[i].reduces, colours[i],
                  std::string(name(gammas[i].type)) + " " + std::string(name(gammas[i].op)));
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
  plot::Svg svg;
  double left = margin + 24;
  for (const LinkProfile& link : profile.links) {
    link_panel(svg, link, left);
    left += panel_width + gap + margin;
  }
  if (!profile.gammas.empty()) {
    gamma_panel(svg, profile.gammas, left);
    left += panel_width + gap + margin;
  }
  const double height = panel_height + 2 * margin + 20;
  const std::string title = "seconds of a call by its bytes; " + profile.machine.cpu + ", " +
                            std::to_string(profile.machine.cores) + " cores, Linux " +
                            profile.machine.kernel + ", " + profile.date;
  svg.text({margin, height - 14}, title);
  return svg.document(left, height, title, "white", "black");
}

}  // namespace rondo::tool
