// The output of a run: lines, a bar, tables and a plot.
#include <sys/resource.h>

#include <csignal>
#include <sstream>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/files.h"
#include "tools/trainer/report/log.h"
#include "tools/trainer/report/progress.h"

namespace {

using namespace rondo::train;
using rondo::test::read_file;
using rondo::test::TemporaryFolder;
using rondo::test::write_file;

RunRecord run_record() {
  return {.ranks = 2,
          .strategy = "ddp",
          .parameters = 12345,
          .steps = 4,
          .targets_per_step = 100,
          .operations_per_step = 1e9};
}

std::vector<StepRecord> three_steps() {
  std::vector<StepRecord> steps;
  for (std::size_t step = 1; step <= 3; ++step) {
    StepRecord record{
        .step = step, .loss = 4.0 - static_cast<double>(step), .norm = 0.5, .rate = 0.1};
    record.phases = {0.0, 0.0, 0.25, 0.5, 0.125, 0.125};
    record.traffic.payload_bytes = 1000;
    steps.push_back(record);
  }
  steps[1].validation = 2.5;
  return steps;
}

TEST_CASE("a line says loss, speed, communication and the time to go") {
  std::ostringstream out;
  show_progress(out, run_record(), three_steps());
  CHECK(headline(run_record()) == "12.3k parameters, ddp on 2 ranks, 100 tokens a step");
  CHECK(
      out.str() ==
      "step 3/4  loss 1.0000  validation 2.5000  100 tokens/s  communication 12.5 %  0:01 to go\n");
}

TEST_CASE("the end says where the time and the memory went") {
  Ledger ledger;
  ledger.take(Use::gradients, 3U << 20);
  CHECK(summary(run_record(), three_steps(), ledger) ==
        "\nloss 3.0000 -> 1.0000 in 0:03, 100 tokens/s, 1.0 GFLOP/s\n"
        "time a step, rank 0 (ms):  other 0.00  data 0.00  forward 250.00  backward 500.00  "
        "communication 125.00  optimizer 125.00\n"
        "memory a rank (MiB):  gradients 3.00  at most 3.00 in all");
}

TEST_CASE("times and counts read well") {
  CHECK(clock_text(65) == "1:05");
  CHECK(clock_text(3725) == "1:02:05");
  CHECK(count_text(950) == "950");
  CHECK(count_text(41'234) == "41.2k");
  CHECK(count_text(3.14e6) == "3.1M");
}

/// The content of the log after each step.
std::string logged(const std::string& path, const std::vector<StepRecord>& steps,
                   std::size_t resumed = 0) {
  StepLog log(path, resumed);
  for (const StepRecord& step : steps) log.append(step);
  return read_file(path);
}

const std::string csv_rows =
    "step,loss,validation,norm,rate,loss_scale,skipped,other_s,data_s,forward_s,backward_s,"
    "communication_s,optimizer_s,messages,payload_bytes,header_bytes\n"
    "1,3,,0.5,0.1,1,0,0,0,0.25,0.5,0.125,0.125,0,1000,0\n"
    "2,2,2.5,0.5,0.1,1,0,0,0,0.25,0.5,0.125,0.125,0,1000,0\n"
    "3,1,,0.5,0.1,1,0,0,0,0.25,0.5,0.125,0.125,0,1000,0\n";

TEST_CASE("CSV has a line a step") {
  const TemporaryFolder folder;
  CHECK(logged(folder / "log.csv", three_steps()) == csv_rows);
}

TEST_CASE("a resumed run goes on in the log, and replaces what was trained again") {
  const TemporaryFolder folder;
  const std::string path = folder / "log.csv";
  auto steps = three_steps();
  const std::string whole = logged(path, steps);
  for (const std::string cut : {"", "3,1,,0."}) {  // killed between rows, and in one
    write_file(path, whole + cut);
    steps[1].loss = 7;  // of the run that was killed after the checkpoint of step 1
    steps[2].loss = 8;
    const std::string text = logged(path, {steps[1], steps[2]}, 1);
    INFO(text);
    for (const std::string row : {"\n1,3,", "\n2,7,", "\n3,8,"})
      CHECK(text.find(row) != std::string::npos);
    CHECK(text.find("2,2,") == std::string::npos);
  }
}

TEST_CASE("a new run begins its log anew, and a file that is no log is not continued") {
  const TemporaryFolder folder;
  const std::string path = folder / "log.csv";
  write_file(path, "dear diary\n");
  CHECK_THROWS_AS(StepLog(path, 2).check(), rondo::Error);
  CHECK(read_file(path) == "dear diary\n");
  CHECK(logged(path, three_steps()) == csv_rows);
}

TEST_CASE("no row is dropped in silence from a log that another program has changed") {
  const TemporaryFolder folder;
  const std::string path = folder / "log.csv";
  const std::string changed = "step 1\n" + csv_rows.substr(csv_rows.find("\n2,") + 1);
  write_file(path, csv_rows.substr(0, csv_rows.find('\n') + 1) + changed);
  CHECK_THROWS_AS(StepLog(path, 2).check(), rondo::Error);
  write_file(path, csv_rows + "\n");
  CHECK_NOTHROW(StepLog(path, 2).check());
}

/// No file of this process grows beyond `bytes`, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit full{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_CASE("a row that a full disk has no room for does not end a run, and those before it stay") {
  const TemporaryFolder folder;
  const std::string path = folder / "log.csv";
  StepLog log(path, 0);
  for (const StepRecord& step : three_steps()) log.append(step);
  {
    const FullDisk disk(read_file(path).size() + 10);
    CHECK_NOTHROW(log.append({.step = 4}));
  }
  CHECK_NOTHROW(log.append({.step = 5}));
  CHECK_THROWS_AS(log.finish(), rondo::Error);
  CHECK(read_file(path) == csv_rows);
}

TEST_CASE("the picture holds the curve, the dots and the bars") {
  const auto svg = plot_svg(run_record(), three_steps());
  CHECK(svg.find("<svg ") == 0);
  CHECK(svg.find("</svg>") == svg.size() - 7);
  CHECK(svg.find("<polyline") != std::string::npos);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (auto at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("<circle") == 1);
  CHECK(count("<rect") == 1 + 3 * 6 + 6);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("a report that cannot be written says so") {
  CHECK_THROWS_AS(StepLog("/nowhere/report.csv", 0).check(), rondo::Error);
  CHECK_THROWS_AS(replace_file("/nowhere/report.svg", "text"), rondo::Error);
  CHECK_THROWS_AS(try_file("/nowhere/report.svg"), rondo::Error);
  CHECK_THROWS_WITH(try_file("/"), Catch::Contains("it is a folder"));
}

}  // namespace
