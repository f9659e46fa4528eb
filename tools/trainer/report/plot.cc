#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tools/plot/svg.h"
#include "tools/trainer/report/log.h"
#include "tools/trainer/words.h"

namespace rondo::train {
namespace {

constexpr double left = 70, right = 850, plot_width = 900, plot_height = 560;
constexpr std::array<std::string_view, phase_names.size()> colours{"#bab0ac", "#edc948", "#4e79a7",
                                                                   "#59a14f", "#e15759", "#b07aa1"};

/// 1, 2, 2.5 or 5 times a power of ten, so that four of them reach `value`.
double tick_for(double value) {
  const double power = std::pow(10, std::floor(std::log10(std::max(value, 1e-9) / 4)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (4 * factor * power >= value) return factor * power;
  }
  return 10 * power;
}

/// Draws a panel's vertical axis from 0 to at least `high`.
plot::Scale axis(plot::Svg& svg, double top, double bottom, double high, std::string_view title) {
  const double tick = tick_for(high);
  const plot::Scale scale{0, 4 * tick, bottom, top};
  svg.text({left, top - 10}, title);
  for (int i = 0; i <= 4; ++i) {
    const double y = scale.at(i * tick);
    svg.line({left, y}, {right, y}, "#8884");
    svg.text({left - 8, y + 4}, format("%.4g", i * tick), "end");
  }
  return scale;
}

void loss_panel(plot::Svg& svg, const std::vector<StepRecord>& steps) {
  double high = 0;
  for (const StepRecord& step : steps)
    high = std::max({high, step.loss, step.validation.value_or(0)});
  const plot::Scale y = axis(svg, 40, 260, high, "loss (line: training; dots: validation)");
  const plot::Scale x{1, std::max(2.0, static_cast<double>(steps.back().step)), left, right};
  std::vector<plot::Point> line;
  for (const StepRecord& step : steps)
    line.push_back({x.at(static_cast<double>(step.step)), y.at(step.loss)});
  svg.curve(line, "#4e79a7");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].validation) svg.dot({line[i].x, y.at(*steps[i].validation)}, 3.5, "#e15759");
  }
  svg.text({right, 278}, "step " + std::to_string(steps.back().step), "end");
}

/// A column for each step, or for some neighbouring ones, in means of milliseconds.
void time_panel(plot::Svg& svg, std::span<const StepRecord> steps) {
  const std::size_t columns = std::min<std::size_t>(steps.size(), 50);
  std::vector<std::array<double, phase_names.size() + 1>> tops(columns);
  double high = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * steps.size() / columns;
    const auto some = steps.subspan(begin, (column + 1) * steps.size() / columns - begin);
    auto& top = tops[column];
    for (std::size_t phase = 0; phase < phase_names.size(); ++phase)
      top[phase + 1] =
          top[phase] + 1e3 * seconds_in(some, phase) / static_cast<double>(some.size());
    high = std::max(high, top.back());
  }
  const plot::Scale y = axis(svg, 320, 500, high, "time a step, rank 0 (ms)");
  const double wide = (right - left) / static_cast<double>(columns);
  for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double top = y.at(tops[column][phase + 1]);
      svg.rectangle({left + wide * static_cast<double>(column) + 1, top}, wide - 2,
                    y.at(tops[column][phase]) - top, colours[phase]);
    }
    svg.key({left + 130 * static_cast<double>(phase), 522}, colours[phase], phase_names[phase]);
  }
}

}  // namespace

std::string plot_svg(const RunRecord& run, const std::vector<StepRecord>& steps) {
  plot::Svg svg;
  if (!steps.empty()) {
    loss_panel(svg, steps);
    time_panel(svg, steps);
  }
  return svg.document(plot_width, plot_height,
                      run.strategy + " on " + std::to_string(run.ranks) + " ranks");
}

}  // namespace rondo::train
