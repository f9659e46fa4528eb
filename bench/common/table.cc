#include "bench/common/table.h"

#include <array>
#include <cstdarg>
#include <cstdio>

#include "bench/common/statistics.h"

namespace rondo::bench {
namespace {

constexpr const char* time_form = "%Y-%m-%d %H:%M:%S";

__attribute__((format(printf, 1, 2))) std::string line(const char* form, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, form);
  std::vsnprintf(text.data(), text.size(), form, arguments);
  va_end(arguments);
  return text.data();
}

std::string half_row(const Options& options, const std::optional<Measurement>& half) {
  if (!half) {
    std::string blank = line("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
    if (options.per_iteration) blank += line("  %7s  %7s  %7s  %7s", "N/A", "N/A", "N/A", "N/A");
    return blank;
  }
  std::string text = line("  %7s  %6s  %6s", fit(half->seconds * 1e6, 7).c_str(),
                          fit(half->algbw, 6).c_str(), fit(half->busbw, 6).c_str());
  text += half->wrong ? line("  %6g", static_cast<double>(*half->wrong)) : "     N/A";
  if (!half->iterations) return text;
  const auto& times = half->iterations->longest;
  const Statistics statistics =
      statistics_of({times.begin() + half->iterations->skipped, times.end()});
  return text + line("  %7s  %7s  %7s  %7s", fit(statistics.min * 1e6, 7).c_str(),
                     fit(statistics.max * 1e6, 7).c_str(), fit(statistics.p99 * 1e6, 7).c_str(),
                     fit(statistics.variation(), 7).c_str());
}

/// The titles of half a row: names or units.
std::string half_titles(const Options& options, bool units) {
  const char* time = options.cpu_time ? "cputime" : "time";
  std::string text = units ? line("  %7s  %6s  %6s  %6s", "(us)", "(GB/s)", "(GB/s)", "")
                           : line("  %7s  %6s  %6s  %6s", time, "algbw", "busbw", "#wrong");
  if (!options.per_iteration) return text;
  return text + (units ? line("  %7s  %7s  %7s  %7s", "(us)", "(us)", "(us)", "(%)")
                       : line("  %7s  %7s  %7s  %7s", "i_min", "i_max", "i_p99", "i_cv%"));
}

std::string blocking_line(const Options& options) {
  switch (options.blocking) {
    case 1:
      return "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n";
    case 2:
      return "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n";
    case 3:
      return "# Blocking Enabled: wait and barrier after each outer iteration (-n); "
             "time excludes barrier \n";
    default:
      return "";
  }
}

std::string counts_line(const Options& options) {
  if (!options.count_pattern) return "";
  return "# Counts: " + to_string(*options.count_pattern) +
         "; the count column is the mean of the blocks\n";
}

}  // namespace

std::string fit(double value, int width) {
  std::array<char, 32> text{};
  for (int decimals = 2; decimals >= 0; --decimals) {
    if (std::snprintf(text.data(), text.size(), "%*.*f", width, decimals, value) <= width) {
      return text.data();
    }
  }
  std::snprintf(text.data(), text.size(), width >= 7 ? "%*.1e" : "%*.0e", width, value);
  return text.data();
}

std::string table_header(std::string_view program, std::string_view version, const Options& options,
                         std::span<const Device> devices) {
  const bool geometric = options.step_factor > 1;
  std::string text = "# rondo version " + std::string(version) + ", columns as nccl-tests\n";
  text += "# Collective test starting: " + std::string(program) + "\n";
  text += line(
      "# nThread %d nGpus 0 minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %d iters: %d "
      "agg iters: %d validation: %d graph: 0 unalign: %zu\n",
      options.threads, options.minimum_bytes, options.maximum_bytes,
      geometric ? options.step_factor : options.step_bytes, geometric ? "factor" : "bytes",
      options.warmup, options.iterations, options.aggregated, options.checks, options.misalign);
  text += blocking_line(options) + counts_line(options);
  text += "#\n# Using devices\n";
  for (const Device& device : devices) {
    text +=
        line("#  Rank %2d Group %2d Pid %6d on %10s device %2d [cpu] %s\n", device.rank,
             device.group, device.pid, device.host.c_str(), device.device, device.model.c_str());
  }
  return text;
}

std::string table_titles(const Options& options) {
  const char* form = "# %10s  %12s  %8s  %6s  %6s";
  const std::string blank = line(form, "", "", "", "", "");
  const char* stamp = options.timestamps ? "timestamp" : "";
  const char* stamp_form = options.timestamps ? time_form : "";
  const int width = options.timestamps ? 19 : 0;
  std::string text = "#\n" + blank;
  text += options.per_iteration
              ? "              out-of-place (+ per-iteration)                                "
                "in-place (+ per-iteration)\n"
              : "           out-of-place                       in-place          \n";
  text += line(form, "size", "count", "type", "redop", "root") + half_titles(options, false) +
          half_titles(options, false) + line(" %*s\n", width, stamp);
  text += line(form, "(B)", "(elements)", "", "", "") + half_titles(options, true) +
          half_titles(options, true) + line(" %*s\n", width, stamp_form);
  return text;
}

std::string table_row(const Options& options, const Row& row) {
  std::string text = line("%12zu  %12zu  %8s  %6s  %6d", row.bytes, row.count, row.type.c_str(),
                          row.redop.c_str(), row.root);
  text += half_row(options, row.out_of_place) + half_row(options, row.in_place);
  if (options.timestamps) text += line("%21s", row.timestamp.c_str());
  return text + "\n";
}

std::string table_footer(std::string_view program, const Summary& summary) {
  const char* verdict = !summary.required ? "" : summary.fast_enough() ? "OK" : "FAILED";
  std::string text = line("# %-20s : %zu %s\n", "Out of bounds values", summary.failures,
                          summary.failures == 0 ? "OK" : "FAILED");
  text += line("# %-20s : %g %s\n", "Avg bus bandwidth", summary.average_busbw, verdict);
  for (const std::string& choice : summary.choices) text += "# " + choice + "\n";
  for (const std::string& error : summary.errors) text += "# error: " + error + "\n";
  return text + "#\n# Collective test concluded: " + std::string(program) + "\n#\n";
}

}  // namespace rondo::bench
