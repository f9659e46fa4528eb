#include <string>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/demo_summary/summary.h"

namespace {

using namespace rondo::demo;

const std::string report = R"({
  "results": [
    {"size": 8, "count": 2, "type": "float32", "redop": "sum", "root": -1,
     "out_of_place": {"time": 3.5, "alg_bw": 0.002, "bus_bw": 0.003, "nwrong": 0},
     "in_place": {"time": 3.0, "alg_bw": 0.003, "bus_bw": 0.004, "nwrong": 0}},
    {"size": 1048576, "count": 262144, "type": "float32", "redop": "sum", "root": -1,
     "out_of_place": {"time": 900.0, "alg_bw": 1.165, "bus_bw": 1.748, "nwrong": 0},
     "in_place": {"time": 950.0, "alg_bw": 1.104, "bus_bw": 1.656, "nwrong": 0}},
    {"size": 2097152, "count": 524288, "type": "float32", "redop": "sum", "root": -1,
     "out_of_place": {"time": 2000.0, "alg_bw": 1.049, "bus_bw": 1.573, "nwrong": 0},
     "in_place": {"time": 2500.0, "alg_bw": 0.839, "bus_bw": 1.258, "nwrong": 0}}],
  "out_of_bounds": {"count": 0, "okay": "true"}})";

TEST_CASE("the summary reads as a person expects") {
  auto sweep = read_report(report, 4);
  sweep.rows[0].choice = "one_shot over shm (one exchange)";
  sweep.rows[1].choice = "ring over shm (least bytes)";
  sweep.rows[2].choice = "ring over shm in 2 passes of 65536 B a chunk (least bytes)";
  sweep.copy_seconds = 0.0005;
  CHECK(summary(sweep, 2) ==
        "What ran    all-reduce (float32, sum) on 4 ranks (processes) and 2 cores, 8 B to 2 MiB\n"
        "            Every element was checked: 0 wrong.\n"
        "Chosen      for each size: algorithm, transport, (reason), time of a call\n"
        "            8 B: one_shot over shm (one exchange)\n"
        "              3.0 us; best at 8 B: algbw 0.00 GB/s, busbw 0.00 GB/s\n"
        "            1 MiB to 2 MiB: ring over shm (least bytes)\n"
        "              900.0 us to 2.00 ms; best at 1 MiB: algbw 1.17 GB/s, busbw 1.75 GB/s\n"
        "            algbw = size / time. busbw = algbw x 2(ranks-1)/ranks: the load on each "
        "rank's link.\n"
        "Copy limit  4 ranks that each copy 2 MiB at the same time take 500.0 us "
        "(4.19 GB/s each).\n"
        "            The all-reduce of this size takes 2.00 ms: 4.0 times as long, "
        "25 % of the copy speed.\n");
}

TEST_CASE("wrong elements are said loudly") {
  auto sweep = read_report(report, 4);
  sweep.wrong = 3;
  CHECK(summary(sweep, 2).find("3 ELEMENTS WERE WRONG") != std::string::npos);
}

TEST_CASE("a broken report is an error, not a crash") {
  CHECK_THROWS_AS(read_report("{", 4), rondo::Error);
  CHECK_THROWS_AS(read_report("{}", 4), rondo::Error);
  CHECK_THROWS_AS(read_report(R"({"results": [], "out_of_bounds": {"count": 0}})", 4),
                  rondo::Error);
}

TEST_CASE("sizes are said in words") {
  CHECK(human_bytes(8) == "8 B");
  CHECK(human_bytes(4096) == "4 KiB");
  CHECK(human_bytes(2621440) == "2.5 MiB");
}

}  // namespace
