// Sizes, bandwidth factors and statistics against tables worked out by hand.
#include <cmath>

#include "bench/common/choices.h"
#include "bench/common/program.h"
#include "bench/common/size.h"
#include "bench/common/statistics.h"
#include "tests/catch.h"

using namespace rondo;
using namespace rondo::bench;

namespace {

struct Expected {
  const char* program;
  std::size_t count;     // of float32 at 4 ranks and 1200 bytes
  std::size_t bytes;     // the size column
  double factor;         // at 4 ranks
  double factor_of_two;  // at 2 ranks
};

/// Equal but for rounding: Approx is spelt differently in Catch2 2 and 3.
bool near(double actual, double expected) {
  return std::fabs(actual - expected) <= 1e-9 * std::fabs(expected);
}

}  // namespace

TEST_CASE("each program has nccl-tests' sizes and bus bandwidth factor") {
  const Expected expected = GENERATE(
      Expected{"all_reduce_perf", 300, 1200, 1.5, 1.0},
      Expected{"reduce_scatter_perf", 75, 1200, 0.75, 0.5},
      Expected{"all_gather_perf", 75, 1200, 0.75, 0.5},
      Expected{"broadcast_perf", 300, 1200, 1.0, 1.0}, Expected{"reduce_perf", 300, 1200, 1.0, 1.0},
      Expected{"alltoall_perf", 75, 1200, 0.75, 0.5}, Expected{"scatter_perf", 75, 1200, 0.75, 0.5},
      Expected{"gather_perf", 75, 1200, 0.75, 0.5}, Expected{"sendrecv_perf", 300, 1200, 1.0, 1.0});
  const Program* program = find_program(expected.program);
  REQUIRE(program != nullptr);
  const Shape shape = shape_of(*program, 1200, DataType::float32, 4);
  CAPTURE(expected.program);
  CHECK(shape.count == expected.count);
  CHECK(shape.bytes == expected.bytes);
  const Bandwidth bandwidth = bandwidth_of(*program, shape, 4, 1e-6);
  CHECK(near(bandwidth.algbw, 1.2));
  CHECK(near(bandwidth.busbw, 1.2 * expected.factor));
  CHECK(near(program->busbw_factor(2), expected.factor_of_two));
}

TEST_CASE("a size that does not divide is rounded down to whole blocks") {
  const Shape shape = shape_of(*find_program("all_gather_perf"), 100, DataType::float32, 3);
  CHECK(shape.count == 8);
  CHECK(shape.bytes == 96);
  CHECK(shape_of(*find_program("alltoall_perf"), 4, DataType::float64, 2).count == 0);
}

TEST_CASE("there is no program of another name") { CHECK(find_program("sum_perf") == nullptr); }

TEST_CASE("sizes read as people write them") {
  CHECK(parse_size("8") == 8);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("16m") == std::size_t{16} << 20);
  CHECK(parse_size("1G") == std::size_t{1} << 30);
  CHECK(parse_size("0.5K") == 512);
  CHECK(parse_size("0") == 0);
  for (const char* bad : {"", "K", "8KB", "-1", "1.2.3", "x8", "8 ", "99999999999999G", "."}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad).has_value());
  }
}

TEST_CASE("sizes print in the largest unit") {
  CHECK(format_size(8) == "8 B");
  CHECK(format_size(65536) == "64 KB");
  CHECK(format_size(1536) == "1.5 KB");
  CHECK(format_size(16380) == "16 KB");
  CHECK(format_size(std::size_t{16} << 20) == "16 MB");
  CHECK(format_size(std::size_t{2048} << 30) == "2048 GB");
}

TEST_CASE("statistics of samples") {
  std::vector<double> samples;
  for (int k = 100; k >= 1; --k) samples.push_back(k);
  const Statistics statistics = statistics_of(samples);
  CHECK(statistics.min == 1);
  CHECK(statistics.max == 100);
  CHECK(near(statistics.mean, 50.5));
  CHECK(statistics.p50 == 51);
  CHECK(statistics.p95 == 95);
  CHECK(statistics.p99 == 99);
  CHECK(near(statistics.deviation, std::sqrt((100.0 * 100.0 - 1) / 12)));
  CHECK(statistics_of({}).variation() == 0);
  CHECK(statistics_of({4.0}).p99 == 4.0);
}

TEST_CASE("stretches of sizes with the same choice become one line") {
  const std::vector<Choice> choices{{8, "one_shot over shm (predicted 1 us)"},
                                    {64, "one_shot over shm (predicted 2 us)"},
                                    {512, "ring over shm in 2 passes (predicted 3 us)"},
                                    {4096, "ring over shm in 4 passes (predicted 4 us)"},
                                    {32768, "ring over tcp in 9 passes (forced)"}};
  const std::vector<std::string> expected{"8 B to 64 B: one_shot over shm (predicted 1 us)",
                                          "512 B to 4 KB: ring over shm (predicted 3 us)",
                                          "32 KB: ring over tcp in 9 passes (forced)"};
  CHECK(summarize_choices(choices) == expected);
  CHECK(summarize_choices({}).empty());
}
