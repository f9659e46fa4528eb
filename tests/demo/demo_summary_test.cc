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
        "What ran    4 ranks (processes) on this machine of 2 cores summed their buffers\n"
        "            (all-reduce, float32, sum) at sizes from 8 B to 2 MiB;\n"
        "            every element was checked, 0 wrong.\n"
        "Chosen      by size, why, and how fast that was:\n"
        "            8 B: one_shot over shm (one exchange)\n"
        "              3.0 us; at best 0.00 GB/s algbw, 0.00 GB/s busbw (8 B)\n"
        "            1 MiB to 2 MiB: ring over shm (least bytes)\n"
        "              900.0 us to 2.00 ms; at best 1.17 GB/s algbw, 1.75 GB/s busbw (1 MiB)\n"
        "            algbw = size / time; busbw = algbw x 2(ranks-1)/ranks, what each rank's link "
        "carries.\n"
        "Copy limit  Merely copying 2 MiB on all 4 ranks at once takes 500.0 us here\n"
        "            (4.19 GB/s a rank). The all-reduce of that size took 2.00 ms: 4.0 copies,\n"
        "            25 % of the memory-copy limit.\n");
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
