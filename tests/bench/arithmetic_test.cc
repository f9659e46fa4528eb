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
  const Shape shape = shape_of(*program, 1200, DataType::float32, {4});
  CAPTURE(expected.program);
  CHECK(shape.count == expected.count);
  CHECK(shape.bytes == expected.bytes);
  const Bandwidth bandwidth = bandwidth_of(*program, shape, 4, 0, 1e-6);
  CHECK(near(bandwidth.algbw, 1.2));
  CHECK(near(bandwidth.busbw, 1.2 * expected.factor));
  const Shape of_two = shape_of(*program, 1200, DataType::float32, {2});
  CHECK(near(program->busbw_factor({of_two.counts, 2, 0}), expected.factor_of_two));
}

TEST_CASE("a size that does not divide is rounded down to whole blocks") {
  const Shape shape = shape_of(*find_program("all_gather_perf"), 100, DataType::float32, {3});
  CHECK(shape.count == 8);
  CHECK(shape.bytes == 96);
  CHECK(shape_of(*find_program("alltoall_perf"), 4, DataType::float64, {2}).count == 0);
}

TEST_CASE("patterns deal out everything, by their names") {
  const auto counts = [](const char* name, std::size_t elements, std::size_t blocks) {
    return counts_of(*parse_count_pattern(name), elements, blocks);
  };
  using Counts = std::vector<std::size_t>;
  CHECK(counts("even", 12, 4) == Counts{3, 3, 3, 3});
  CHECK(counts("linear", 16, 4) == Counts{1, 3, 5, 7});
  CHECK(counts("linear", 100, 2) == Counts{25, 75});
  CHECK(counts("one", 12, 3) == Counts{0, 0, 12});
  CHECK(counts("random", 1000, 4) == counts("random:1", 1000, 4));
  CHECK(counts("random:2", 1000, 4) != counts("random:1", 1000, 4));
  for (const char* name : {"even", "linear", "one", "random:7"}) {
    CAPTURE(name);
    CHECK(to_string(*parse_count_pattern(name)) == name);
    for (const std::size_t elements : {std::size_t{0}, std::size_t{5}, std::size_t{1} << 45}) {
      for (const std::size_t blocks : {1, 2, 3, 64})
        CHECK(begin_of(counts(name, elements, blocks), blocks) == elements);
    }
  }
  for (const char* bad : {"", "evenly", "random:", "random:x", "random:1x", "random:-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_count_pattern(bad).has_value());
  }
}

TEST_CASE("in an exchange each rank receives what the other one sends") {
  const std::vector<std::size_t> counts{1, 3, 5, 7};
  for (std::size_t from = 0; from < counts.size(); ++from) {
    for (std::size_t to = 0; to < counts.size(); ++to)
      CHECK(counts_to(counts, from)[to] == counts_from(counts, to)[from]);
  }
}

TEST_CASE("the bus bandwidth of ragged calls is that of the busiest rank") {
  struct Busiest {
    const char* program;
    const char* count_pattern;
    int root;
    double factor;  // at 4 ranks
  };
  const Busiest expected = GENERATE(
      Busiest{"all_gather_perf", "even", 0, 0.75}, Busiest{"all_gather_perf", "linear", 0, 0.9375},
      Busiest{"all_gather_perf", "one", 0, 1.0}, Busiest{"reduce_scatter_perf", "one", 0, 1.0},
      Busiest{"gather_perf", "one", 0, 1.0}, Busiest{"gather_perf", "one", 3, 0.0},
      Busiest{"scatter_perf", "linear", 3, 0.5625}, Busiest{"alltoall_perf", "linear", 0, 0.9375},
      Busiest{"alltoall_perf", "one", 0, 1.0});
  const Program* program = find_program(expected.program);
  CAPTURE(expected.program, expected.count_pattern, expected.root);
  const Shape shape = shape_of(*program, 1600, DataType::float32,
                               {4, 0, *parse_count_pattern(expected.count_pattern)});
  CHECK(shape.bytes == 1600);
  CHECK(near(program->busbw_factor({shape.counts, 4, expected.root}), expected.factor));
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
