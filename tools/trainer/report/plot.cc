#include "tools/trainer/report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace rondo::train {
namespace {

constexpr double left = 70, right = 850, width = 900, height = 560;
constexpr std::array<std::string_view, phase_names.size()> colours{"#bab0ac", "#edc948", "#4e79a7",
                                                                   "#59a14f", "#e15759", "#b07aa1"};

std::string coordinate(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string label(double x, double y, const std::string& text, const char* anchor = "middle") {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor +
         "\">" + text + "</text>\n";
}

std::string bar(double x, double y, double across, double down, std::string_view colour) {
  return "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" width=\"" +
         coordinate(across) + "\" height=\"" + coordinate(down) + "\" fill=\"" +
         std::string(colour) + "\"/>\n";
}

/// A panel's vertical axis from `low` (at y = bottom) to `high` (at y = top).
struct Axis {
  double top, bottom, low, high;
  double y(double value) const {
    return bottom - (bottom - top) * std::clamp((value - low) / (high - low), 0.0, 1.0);
  }
  std::string draw(const std::string& title) const {
    std::string text = label(left, top - 10, title, "start");
    for (int tick = 0; tick <= 4; ++tick) {
      const double value = low + (high - low) * tick / 4;
      text += "<line x1=\"" + coordinate(left) + "\" x2=\"" + coordinate(right) + "\" y1=\"" +
              coordinate(y(value)) + "\" y2=\"" + coordinate(y(value)) +
              "\" stroke=\"#888\" stroke-opacity=\"0.3\"/>\n";
      text += label(left - 8, y(value) + 4, coordinate(value), "end");
    }
    return text;
  }
};

double across(double step, double steps) {
  return left + (right - left) * (steps > 1 ? (step - 1) / (steps - 1) : 0.5);
}

/// 1, 2, 2.5 or 5 times a power of ten, so that four of them reach `value`.
double tick_for(double value) {
  const double power = std::pow(10, std::floor(std::log10(std::max(value, 1e-9) / 4)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (4 * factor * power >= value) return factor * power;
  }
  return 10 * power;
}

std::string loss_panel(const std::vector<StepRecord>& steps) {
  double high = 0;
  for (const StepRecord& step : steps)
    high = std::max({high, step.loss, step.validation.value_or(0)});
  const Axis axis{40, 260, 0, 4 * tick_for(high)};
  const auto last = static_cast<double>(steps.back().step);
  std::string line;
  std::string marks;
  for (const StepRecord& step : steps) {
    const double x = across(static_cast<double>(step.step), last);
    line += coordinate(x) + "," + coordinate(axis.y(step.loss)) + " ";
    if (step.validation) {
      marks += "<circle r=\"3.5\" fill=\"#e15759\" cx=\"" + coordinate(x) + "\" cy=\"" +
               coordinate(axis.y(*step.validation)) + "\"/>\n";
    }
  }
  return axis.draw("loss (line: training; dots: validation)") +
         "<polyline fill=\"none\" stroke=\"#4e79a7\" stroke-width=\"1.5\" points=\"" + line +
         "\"/>\n" + marks + label(right, 278, "step " + std::to_string(steps.back().step), "end");
}

/// Mean milliseconds of each phase over some neighbouring steps.
PhaseSeconds mean_of(const std::vector<StepRecord>& steps, std::size_t begin, std::size_t end) {
  PhaseSeconds mean{};
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t phase = 0; phase < mean.size(); ++phase) {
      mean[phase] += 1e3 * steps[i].phases[phase] / static_cast<double>(end - begin);
    }
  }
  return mean;
}

std::string time_panel(const std::vector<StepRecord>& steps) {
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
  const Axis axis{320, 500, 0, 4 * tick_for(high)};
  std::string text = axis.draw("time a step, rank 0 (ms)");
  const double wide = (right - left) / static_cast<double>(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
      const double below = axis.y(sum);
      sum += means[column][phase];
      text += bar(left + wide * static_cast<double>(column) + 1, axis.y(sum), wide - 2,
                  below - axis.y(sum), colours[phase]);
    }
  }
  for (std::size_t phase = 0; phase < phase_names.size(); ++phase) {
    const double x = left + 130 * static_cast<double>(phase);
    text += bar(x, 522, 12, 12, colours[phase]) +
            label(x + 18, 533, std::string(phase_names[phase]), "start");
  }
  return text;
}

}  // namespace

std::string plot_svg(const RunRecord& run, const std::vector<StepRecord>& steps) {
  std::string text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + coordinate(width) + " " +
      coordinate(height) + "\" font-family=\"sans-serif\" font-size=\"12\" " + "fill=\"#888\">\n" +
      "<title>" + run.strategy + " on " + std::to_string(run.ranks) + " ranks</title>\n";
  if (!steps.empty()) text += loss_panel(steps) + time_panel(steps);
  return text + "</svg>\n";
}

}  // namespace rondo::train
