#include "bench/common/measure.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "bench/common/gather.h"

namespace rondo::bench {
namespace {

constexpr std::size_t most_slots = 4;
constexpr std::size_t line_bytes = 64;
// Rotation costs memory, so large sizes rotate over fewer buffers: 4 up to 16 MB, 2 up to 256 MB.
constexpr std::size_t four_slots_up_to = std::size_t{16} << 20;
constexpr std::size_t two_slots_up_to = std::size_t{256} << 20;

std::size_t stride_for(std::size_t bytes) {
  return std::max(line_bytes, (bytes + line_bytes - 1) / line_bytes * line_bytes);
}

std::size_t capacity_for(const Options& options) {
  const std::size_t bytes = options.maximum_bytes;
  std::size_t slots = 1;
  if (options.fresh && bytes <= two_slots_up_to) slots = bytes <= four_slots_up_to ? most_slots : 2;
  return slots * stride_for(bytes);
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

Measurer::Measurer(Communicator& communicator, const Program& program, const Options& options,
                   DataType type, ReduceOperator op, int root)
    : communicator_(communicator),
      program_(program),
      options_(options),
      type_(type),
      op_(op),
      root_(root),
      reduces_(info(program.collective).reduces),
      input_(capacity_for(options), options.misalign * size_of(type)),
      output_(capacity_for(options), options.misalign * size_of(type)) {}

Shape Measurer::shape(std::size_t bytes) const {
  const CountPattern count_pattern = options_.count_pattern.value_or(CountPattern{});
  return shape_of(program_, bytes, type_,
                  {communicator_.size(), communicator_.rank(), count_pattern});
}

double Measurer::now() const {
  return seconds_of(options_.cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

Layout Measurer::layout(std::size_t bytes, bool in_place) const {
  return {&program_, shape(bytes), type_, communicator_.rank(), communicator_.size(),
          root_,     in_place};
}

void Measurer::take_counts(const Layout& layout) {
  const bool own_lists = program_.exchanges();
  counts_ = own_lists ? layout.input_counts(layout.rank) : layout.shape.counts;
  received_ = own_lists ? layout.output_counts(layout.rank) : layout.shape.counts;
}

void Measurer::fill_slots(const Layout& layout) {
  stride_ = stride_for(layout.shape.bytes);
  slots_ = options_.fresh ? std::clamp<std::size_t>(input_.size() / stride_, 1, most_slots) : 1;
  Buffer& buffer = layout.in_place ? output_ : input_;
  const std::size_t elements = layout.shape.bytes / size_of(type_);
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const Pattern pattern(type_, op_, reduces_, layout.ranks, slot);
    pattern.fill_input(buffer.data() + slot * stride_, layout.rank, 0, elements);
  }
}

void Measurer::call(const Layout& layout, int iteration) {
  const std::size_t slot = static_cast<std::size_t>(iteration) % slots_ * stride_;
  const Buffer& source = layout.in_place ? output_ : input_;
  const auto call = options_.count_pattern ? program_.call_ragged : program_.call;
  call(communicator_, {source.data() + slot + layout.input_offset(),
                       output_.data() + slot + layout.output_offset(), layout.shape.count, type_,
                       op_, root_, counts_, received_});
}

void Measurer::iterate(const Layout& layout, int iteration) {
  const int first = iteration * options_.aggregated;
  if (options_.aggregated == 1) {
    call(layout, first);
  } else {
    Group group;
    for (int k = 0; k < options_.aggregated; ++k) call(layout, first + k);
    group.wait();
  }
  if (options_.blocking == 1) communicator_.barrier();
}

double Measurer::time(const Layout& layout, std::vector<double>& iterations) {
  for (int k = 0; k <= options_.warmup; ++k) iterate(layout, k);  // one more: connects all peers
  communicator_.barrier();
  const bool stamps = options_.per_iteration || options_.blocking == 3;
  const double start = now();
  double last = start;
  for (int k = 0; k < options_.iterations; ++k) {
    iterate(layout, k);
    if (!stamps) continue;
    iterations.push_back((now() - last) / options_.aggregated);
    if (options_.blocking == 3) communicator_.barrier();
    last = now();
  }
  const double total =
      options_.blocking == 3
          ? std::accumulate(iterations.begin(), iterations.end(), 0.0) * options_.aggregated
          : now() - start;
  return total / (options_.iterations * options_.aggregated);
}

double Measurer::combine(double seconds) const {
  const std::vector<double> all = gather_all(communicator_, seconds);
  switch (options_.average) {
    case Average::rank0:
      return all.front();
    case Average::min:
      return *std::min_element(all.begin(), all.end());
    case Average::max:
      return *std::max_element(all.begin(), all.end());
    case Average::mean:
      break;
  }
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

std::size_t Measurer::check(const Layout& layout) {
  std::size_t wrong = 0;
  for (int k = 0; k < options_.checks && wrong == 0; ++k) {
    const Pattern pattern(type_, op_, reduces_, layout.ranks, most_slots + seed_++);
    stride_ = 0;
    prepare_check(layout, pattern, input_, output_);
    call(layout, 0);
    const auto all = gather_all(communicator_, count_errors(layout, pattern, input_, output_));
    wrong = std::accumulate(all.begin(), all.end(), std::size_t{0});
  }
  return wrong;
}

IterationTimes Measurer::gather_iterations(const std::vector<double>& own) const {
  const std::vector<double> all = gather_all(communicator_, std::span<const double>(own));
  const auto threads = static_cast<std::size_t>(options_.threads);
  IterationTimes times{options_.per_iteration_skip, std::vector<double>(own.size()), {}};
  for (std::size_t start = 0; start < all.size(); start += own.size()) {
    if (start / own.size() % threads == 0) times.process.emplace_back(own.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      times.longest[k] = std::max(times.longest[k], all[start + k]);
      times.process.back()[k] = std::max(times.process.back()[k], all[start + k]);
    }
  }
  return times;
}

Measurement Measurer::measure(std::size_t bytes, bool in_place) {
  const Layout row = layout(bytes, in_place);
  take_counts(row);
  fill_slots(row);
  std::vector<double> iterations;
  iterations.reserve(static_cast<std::size_t>(options_.iterations));
  Measurement result;
  result.seconds = combine(time(row, iterations));
  const Bandwidth bandwidth = bandwidth_of(program_, row.shape, row.ranks, root_, result.seconds);
  result.algbw = bandwidth.algbw;
  result.busbw = bandwidth.busbw;
  if (options_.per_iteration) result.iterations = gather_iterations(iterations);
  if (options_.checks > 0) result.wrong = check(row);
  return result;
}

}  // namespace rondo::bench
