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

/// Mean milliseconds of each phase over some neighbouring steps.
PhaseSeconds mean_of(const std::vector<StepRecord>& steps, std::size_t begin, std::size_t end) {
  PhaseSeconds mean{};
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t phase = 0; phase < mean.size(); ++phase)
      mean[phase] += 1e3 * steps[i].phases[phase] / static_cast<double>(end - begin);
  }
  return mean;
}

void time_panel(plot::Svg& svg, const std::vector<StepRecord>& steps) {
  const std::size_t columns = std::min<std::size_t>(steps.size(), 50);
  std::vector<PhaseSeconds> means;
  double high = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    means.push_back(
        mean_of(steps, column * steps.size() / columns, (column + 1) * steps.size() / columns));
    double sum = 0;
    for (const double phase : means.back()) sum += phase;
    high = std::max(high, sum);
  }
  const plot::Scale y = axis(svg, 320, 500, high, "time a step, rank 0 (ms)");
  const double wide = (right - left) / static_cast<double>(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
      const double below = y.at(sum);
      sum += means[column][phase];
      svg.rectangle({left + wide * static_cast<double>(column) + 1, y.at(sum)}, wide - 2,
                    below - y.at(sum), colours[phase]);
    }
  }
  for (std::size_t phase = 0; phase < phase_names.size(); ++phase)
    svg.key({left + 130 * static_cast<double>(phase), 522}, colours[phase], phase_names[phase]);
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
