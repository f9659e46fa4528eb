// The table as text, and the JSON's shape, from measurements made up here.
#include <cmath>

#include "bench/common/json_report.h"
#include "bench/common/table.h"
#include "tests/catch.h"
#include "tests/support/files.h"

using namespace rondo;
using namespace rondo::bench;
using nlohmann::ordered_json;

namespace {

Row sample_row() {
  Row row{1048576, 262144, "float", "sum", -1, {}, {}, "2026-01-02 03:04:05"};
  row.out_of_place = Measurement{123.456e-6, 8.4935, 12.7402, 0, {}};
  row.in_place = Measurement{0.0123456, 0.0849, 0.1274, 3, {}};
  return row;
}

const std::vector<Device> two_devices{{0, 0, 4711, "alpha", 0, "Some CPU"},
                                      {1, 0, 4712, "alpha", 0, "Some CPU"}};

/// Equal but for rounding: Approx is spelt differently in Catch2 2 and 3.
bool near(double actual, double expected) {
  return std::fabs(actual - expected) <= 1e-9 * std::fabs(expected);
}

}  // namespace

TEST_CASE("the table's header names options and ranks") {
  bench::Options options;
  options.minimum_bytes = 8;
  options.maximum_bytes = 64;
  options.step_factor = 8;
  CHECK(table_header("all_reduce_perf", "0.1.0", options, two_devices) ==
        "# rondo version 0.1.0, columns as nccl-tests\n"
        "# Collective test starting: all_reduce_perf\n"
        "# nThread 1 nGpus 0 minBytes 8 maxBytes 64 step: 8(factor) warmup iters: 1 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
        "#\n"
        "# Using devices\n"
        "#  Rank  0 Group  0 Pid   4711 on      alpha device  0 [cpu] Some CPU\n"
        "#  Rank  1 Group  0 Pid   4712 on      alpha device  0 [cpu] Some CPU\n");
}

TEST_CASE("the table's header and the JSON name the pattern of counts") {
  bench::Options options;
  options.count_pattern = CountPattern{CountPattern::Kind::random, 7};
  CHECK(table_header("all_gather_perf", "0.1.0", options, two_devices)
            .find("\n# Counts: random:7; the count column is the mean of the blocks\n#\n") !=
        std::string::npos);
  const JsonReport report(options, "0.1.0", {}, {}, "");
  CHECK(report.document()["config"]["counts"] == "random:7");
  CHECK(JsonReport({}, "0.1.0", {}, {}, "").document()["config"]["counts"] == "");
}

TEST_CASE("titles and rows stand in nccl-tests' columns") {
  const bench::Options options;
  // clang-format off
  CHECK(table_titles(options) + table_row(options, sample_row()) ==
      "#\n"
      "#                                                              out-of-place                       in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         \n"
      "     1048576        262144     float     sum      -1   123.46    8.49   12.74       0  12345.6    0.08    0.13       3\n");
  // clang-format on
}

TEST_CASE("a collective without an in-place form and an unchecked run say N/A") {
  const bench::Options options;
  Row row = sample_row();
  row.in_place.reset();
  row.out_of_place->wrong.reset();
  CHECK(table_row(options, row) ==
        "     1048576        262144     float     sum      -1   123.46    8.49   12.74     N/A"
        "      N/A     N/A     N/A     N/A\n");
}

TEST_CASE("per-iteration statistics and timestamps are further columns") {
  bench::Options options;
  options.per_iteration = true;
  options.timestamps = true;
  Row row = sample_row();
  row.out_of_place->iterations = IterationTimes{1, {9.0, 1e-6, 3e-6}, {}};
  row.in_place.reset();
  CHECK(table_row(options, row) ==
        "     1048576        262144     float     sum      -1   123.46    8.49   12.74       0"
        "     1.00     3.00     3.00    50.00"
        "      N/A     N/A     N/A     N/A      N/A      N/A      N/A      N/A"
        "  2026-01-02 03:04:05\n");
}

TEST_CASE("numbers give up decimals to fit their column") {
  CHECK(fit(1.005, 6) == "  1.00");
  CHECK(fit(1234.56, 6) == "1234.6");
  CHECK(fit(123456.7, 6) == "123457");
  CHECK(fit(1.5e9, 7) == "1.5e+09");
}

TEST_CASE("the footer has the verdicts") {
  Summary summary;
  summary.average_busbw = 1.25;
  summary.choices = {"8 B to 64 B: ring over shm (forced)"};
  CHECK(summary.okay());
  CHECK(table_footer("all_reduce_perf", summary) ==
        "# Out of bounds values : 0 OK\n"
        "# Avg bus bandwidth    : 1.25 \n"
        "# 8 B to 64 B: ring over shm (forced)\n"
        "#\n"
        "# Collective test concluded: all_reduce_perf\n"
        "#\n");
  summary.required = 1.3;  // 1.25 is above 0.9 x 1.3
  CHECK(summary.okay());
  summary.required = 1.4;
  CHECK_FALSE(summary.okay());
  CHECK(table_footer("x", summary).find("1.25 FAILED") != std::string::npos);
  summary.required.reset();
  summary.failures = 2;
  CHECK_FALSE(summary.okay());
  CHECK(table_footer("x", summary).find("Out of bounds values : 2 FAILED") != std::string::npos);
}

TEST_CASE("the JSON has version 3's fields") {
  bench::Options options;
  options.step_factor = 2;
  options.per_iteration = true;
  const std::vector<std::string> arguments{"all_reduce_perf", "-J", "x"};
  const std::vector<std::string> environment{"RANK=0"};
  JsonReport report(options, "0.1.0", arguments, environment, "2026-01-02 03:04:05");
  report.devices(two_devices);
  Row row = sample_row();
  row.out_of_place->iterations = IterationTimes{0, {1e-6, 3e-6}, {{1e-6, 2e-6}, {0.5e-6, 3e-6}}};
  row.in_place->wrong.reset();
  report.row(row);
  Summary summary;
  summary.average_busbw = 6.5;
  report.finish(summary, "2026-01-02 03:04:06");
  const ordered_json& json = report.document();

  CHECK(json["version"] == 3);
  CHECK(json["start_time"] == "2026-01-02 03:04:05");
  CHECK(json["args"] == ordered_json{"all_reduce_perf", "-J", "x"});
  CHECK(json["env"] == ordered_json::array({"RANK=0"}));
  CHECK(json["nccl_version"] == 0);
  CHECK(json["rondo_version"] == "0.1.0");
  for (const char* key :
       {"nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "step_factor", "warmup_iters",
        "iterations", "aggregated_iterations", "validation", "graph", "blocking_collectives",
        "per_iter_timing", "per_iter_skip", "parallel_init", "devices"}) {
    CAPTURE(key);
    CHECK(json["config"].contains(key));
  }
  CHECK(json["config"]["per_iter_timing"] == "true");
  CHECK(json["config"]["blocking_collectives"] == "false");
  CHECK(json["config"]["devices"][1] == ordered_json{{"rank", 1},
                                                     {"group", 0},
                                                     {"pid", 4712},
                                                     {"hostname", "alpha"},
                                                     {"device", 0},
                                                     {"device_hex", "cpu"},
                                                     {"device_info", "Some CPU"}});
  const ordered_json& result = json["results"][0];
  CHECK(result["size"] == 1048576);
  CHECK(result["count"] == 262144);
  CHECK(result["root"] == "-1");
  CHECK(near(result["out_of_place"]["time"].get<double>(), 123.456));
  CHECK(result["out_of_place"]["nwrong"] == 0);
  CHECK(result["in_place"]["nwrong"].is_null());
  CHECK(near(result["out_of_place_per_iter"]["max_us"].get<double>(), 3.0));
  CHECK(result["out_of_place_per_iter"]["per_process_max_times_us"].size() == 2);
  CHECK(result["actual_iterations"] == 20);
  CHECK(result["experiment_name"] == "");
  CHECK(json["out_of_bounds"] == ordered_json{{"count", 0}, {"okay", "true"}});
  CHECK(json["average_bus_bandwidth"] == ordered_json{{"bandwidth", 6.5}, {"okay", "unchecked"}});
  CHECK(json["errors"].empty());
  CHECK(json["end_time"] == "2026-01-02 03:04:06");
}

TEST_CASE("CPU time has its own field, and a missing in-place form is null") {
  bench::Options options;
  options.cpu_time = true;
  JsonReport report(options, "0.1.0", {}, {}, "");
  Row row = sample_row();
  row.in_place.reset();
  report.row(row);
  const ordered_json& result = report.document()["results"][0];
  CHECK(result["out_of_place"].contains("cpu_time"));
  CHECK(result["in_place"].is_null());
}

TEST_CASE("an existing report is never overwritten") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "out.json";
  CHECK(claim_file(path) == path);
  CHECK(claim_file(path) == path + ".0");
  CHECK(claim_file(path) == path + ".1");
  try {
    claim_file(folder / "missing/out.json");
    FAIL("a folder that does not exist was accepted");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).starts_with("cannot create " + (folder / "missing/out.json")));
  }
}
