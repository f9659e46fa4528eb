#include "bench/common/sweep.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "bench/common/choices.h"
#include "bench/common/devices.h"
#include "bench/common/json_report.h"
#include "bench/common/measure.h"
#include "bench/common/names.h"
#include "bench/common/progress.h"
#include "bench/common/size.h"
#include "bench/common/table.h"

namespace rondo::bench {
namespace {

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// The table on standard output and the JSON file; made on rank 0 only.
class Output {
 public:
  Output(const Program& program, const Options& options, std::span<const std::string> arguments,
         std::span<const Device> devices)
      : program_(program), options_(options) {
    if (!options.output_file.empty()) {
      path_ = claim_file(options.output_file);
      json_.emplace(options, version(), arguments, relevant_environment(), time_of_day());
      json_->devices(devices);
      print("# Writing JSON output to " + path_ + "\n");
    }
    print(table_header(program.name, version(), options, devices) + table_titles(options));
  }

  void starts(std::size_t bytes, std::size_t step, std::size_t steps) {
    progress_.say("measuring " + format_size(bytes) + " (" + std::to_string(step) + " of " +
                  std::to_string(steps) + ")");
  }

  void row(Row row) {
    row.timestamp = time_of_day();
    progress_.erase();
    print(table_row(options_, row));
    if (json_) json_->row(row);
  }

  void finish(const Summary& summary) {
    print(table_footer(program_.name, summary));
    write_json(summary);
  }

  /// Call it after a failure: it reports the results so far and the reason.
  void break_off(Summary summary, const std::string& reason) {
    progress_.erase();
    summary.errors.push_back(reason);
    write_json(summary);
  }

 private:
  void write_json(const Summary& summary) {
    if (!json_) return;
    json_->finish(summary, time_of_day());
    std::ofstream file(path_);
    file << json_->document().dump(1) << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write " + path_);
  }

  const Program& program_;
  const Options& options_;
  Progress progress_{};
  std::string path_{};
  std::optional<JsonReport> json_{};
};

bool has_root(const Program& program) {
  return info(program.collective).has_root && program.collective != Collective::send_recv;
}

std::vector<int> roots(const Program& program, const Options& options, int ranks) {
  if (!has_root(program)) return {-1};
  if (options.root >= ranks) {
    throw std::invalid_argument("-r " + std::to_string(options.root) + ": there are only " +
                                std::to_string(ranks) + " ranks");
  }
  if (options.root >= 0) return {options.root};
  std::vector<int> all;
  for (int root = 0; root < ranks; ++root) all.push_back(root);
  return all;
}

/// Sums over the sweep.
class Tally {
 public:
  void add(const std::optional<Measurement>& half) {
    if (!half) return;
    failures_ += half->wrong.value_or(0) > 0;
    busbw_ += half->busbw;
    ++count_;
  }
  Summary summary() const {
    Summary result;
    result.failures = failures_;
    result.average_busbw = count_ == 0 ? 0 : busbw_ / static_cast<double>(count_);
    return result;
  }

 private:
  std::size_t failures_ = 0;
  double busbw_ = 0;
  std::size_t count_ = 0;
};

/// One type, operator and root at every size.
void sweep_sizes(Communicator& communicator, const Program& program, const Options& options,
                 DataType type, ReduceOperator op, int root, Output* output, Tally& tally) {
  Measurer measurer(communicator, program, options, type, op, root < 0 ? 0 : root);
  const std::vector<std::size_t> sizes = options.sizes();
  for (std::size_t step = 0; step < sizes.size(); ++step) {
    if (output != nullptr) output->starts(sizes[step], step + 1, sizes.size());
    const Shape shape = measurer.shape(sizes[step]);
    const bool reduces = info(program.collective).reduces;
    Row row{shape.bytes, shape.count, std::string(column_name(type)),
            std::string(reduces ? name(op) : "none"), root};
    row.out_of_place = measurer.measure(sizes[step], false);
    if (program.in_place) row.in_place = measurer.measure(sizes[step], true);
    tally.add(row.out_of_place);
    tally.add(row.in_place);
    if (output != nullptr) output->row(std::move(row));
  }
}

/// Every type, operator and root, once.
void sweep_cases(Communicator& communicator, const Program& program, const Options& options,
                 const std::vector<int>& all_roots, Output* output, Tally& tally) {
  for (const Kinds& kinds : options.kinds(program.collective)) {
    for (const int root : all_roots)
      sweep_sizes(communicator, program, options, kinds.type, kinds.op, root, output, tally);
  }
}

/// The choices for the first type, operator and root. The others seldom differ.
std::vector<std::string> describe_choices(const Communicator& communicator, const Program& program,
                                          const Options& options) {
  std::vector<Choice> choices;
  if (options.count_pattern) {
    return {"RONDO_DEBUG=INFO shows which algorithm and transport such calls use"};
  }
  const auto [type, op] = options.kinds(program.collective).front();
  const int root = has_root(program) && options.root > 0 ? options.root : 0;
  for (const std::size_t size : options.sizes()) {
    const Shape shape = shape_of(program, size, type, {communicator.size()});
    choices.push_back(
        {shape.bytes, communicator.describe(program.collective, shape.count, type, op, root)});
  }
  return summarize_choices(choices);
}

}  // namespace

Summary sweep(Communicator& communicator, const Program& program, const Options& options,
              std::span<const std::string> arguments) {
  const std::vector<int> all_roots = roots(program, options, communicator.size());
  const std::vector<Device> devices = gather_devices(communicator, options.threads);
  std::optional<Output> output;
  if (communicator.rank() == 0) output.emplace(program, options, arguments, devices);
  Tally tally;
  try {
    for (int cycle = 0; options.cycles == 0 || cycle < options.cycles; ++cycle) {
      sweep_cases(communicator, program, options, all_roots, output ? &*output : nullptr, tally);
    }
    Summary summary = tally.summary();
    summary.required = required_bandwidth();
    summary.choices = describe_choices(communicator, program, options);
    if (output) output->finish(summary);
    return summary;
  } catch (const std::exception& error) {
    if (output) output->break_off(tally.summary(), error.what());
    throw;
  }
}

}  // namespace rondo::bench
