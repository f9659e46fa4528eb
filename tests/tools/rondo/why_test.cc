// `rondo why`: the report from given facts, and whether jobs do what it says.
#include <sstream>

#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/program.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/why/device.h"
#include "tools/rondo/why/report.h"

using namespace rondo;
using namespace rondo::tool;

namespace {

why::Facts shared_memory(int ranks) {
  return {.around = {.ranks = ranks, .one_machine = true, .direct = ranks <= 64},
          .transport = "shm",
          .passed_over = "local: other processes",
          .reaches_memory = true,
          .frame_bytes = 65536};
}

why::Facts network(int ranks) {
  return {.around = {.ranks = ranks, .links = LinkClass::network, .one_machine = true},
          .transport = "tcp",
          .frame_bytes = 524288};
}

Call all_reduce(std::uint64_t count) {
  return {.count = count, .collective = Collective::all_reduce, .type = DataType::float32};
}

std::string report(const Call& call, const why::Facts& facts, const std::string& selection = {}) {
  return why::report(call, facts, AlgorithmSelection(selection, "test"),
                     {.alpha = 1e-6, .beta = 1e-9, .gamma = 0});
}

bool has(const std::string& text, const std::string& words) {
  INFO(text);
  const bool found = text.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

/// What `rondo why` says first, on one line.
std::string first_sentence(const std::string& report) {
  std::istringstream words(report.substr(0, report.find("\n\n")));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// What the job's log says of its calls of that size.
std::string logged_sentence(const std::string& log, const std::string& begin) {
  const std::size_t at = log.find("INFO  " + begin);
  if (at == std::string::npos) return "nothing in the log: " + log;
  const std::string line = log.substr(at + 6);
  return line.substr(0, line.find('\n'));
}

}  // namespace

TEST_CASE("the whole report, as a person reads it") {
  const std::string text = report(all_reduce(262144), shared_memory(4));
  has(text, "\n* two_shot ");
  has(text, "\n  binomial_tree ");
  has(text, "\n*: the algorithm that messages use here. It comes from a table of measurements,\n");
  const std::size_t rows = text.find("relative\n") + 9;
  CHECK(text.substr(0, rows) ==

        R"(all_reduce of 262144 x float32: direct over shm: in rondo::allocate() memory in
  place, else two_shot over shm in 4 passes of 65536 B a chunk (memory to
  memory, no copies in between)

transport   shm, with messages of up to 65536 B (local: other processes)
path        direct: ranks read and write memory from rondo::allocate() in place;
            other memory goes by messages
why         memory to memory, no copies in between
messages    two_shot, 1 lane, 4 chunks: when the call goes by messages
slices      4 passes, each of up to 65536 B of every chunk, so that receiving,
            reducing and sending overlap

Predicted by messages: alpha 1e-06 s, beta 1e-09 s/byte, gamma 0 s/byte
  algorithm           predicted us  relative
)");
}

TEST_CASE("the reasons for each path") {
  has(report(all_reduce(64), shared_memory(4)), "path        direct: every rank copies its input");
  has(report(all_reduce(64), network(4)),
      "path        by messages: over tcp no rank can read another rank's memory\n");
  const std::string large = report(all_reduce(1 << 20), network(4));
  has(large, "messages    ring, 1 lane, 4 chunks\n");
  has(large, "\n* ring ");
  has(large, "slices      2 passes, each of up to 512 KiB of every chunk");
  has(report(all_reduce(64), shared_memory(4), "^direct"),
      "path        by messages: direct is excluded\n");
  has(report(all_reduce(64), shared_memory(65)), "path        by messages: direct is for up to 64");
  has(report(all_reduce(64), shared_memory(4), "chain"), "\n* chain ");
  const std::string forced = report(all_reduce(1 << 20), shared_memory(4), "direct");
  has(forced, "why         memory to memory, no copies in between, forced\n");
  why::Facts facts = shared_memory(2);
  Call gather = all_reduce(1 << 20);
  gather.collective = Collective::all_gather;
  has(report(gather, facts), "other memory goes by messages\n");
}

TEST_CASE("why a call takes an algorithm that adds in rank order") {
  Call call = all_reduce(1 << 20);
  call.reproducible = true;
  const std::string by_messages = report(call, network(4));
  has(by_messages,
      "why         each rank adds its share, least bytes; reproducible: contributions");
  has(by_messages, "\n* two_shot ");
  call.reproducible = false;
  call.accumulate = DataType::float64;
  has(report(call, network(4)), "accumulated in float64:");
  CHECK_THROWS_AS(report(call, network(4), "ring"), Error);
}

TEST_CASE("one rank, and collectives without sizes") {
  const std::string alone =
      report(all_reduce(64), {.around = {.ranks = 1}, .frame_bytes = 1 << 20});
  has(alone, "transport   none: there is one rank\n");
  CHECK(alone.find("Predicted") == std::string::npos);
  const std::string barrier = report({.collective = Collective::barrier}, network(3));
  has(barrier, "\n* dissemination         2.000     1.00x\n");
  CHECK(barrier.find("\nslices") == std::string::npos);
}

TEST_CASE("beyond the hosts that were measured, the choice goes by the times that are shown") {
  why::Facts facts = network(12);
  facts.around.one_machine = false;
  facts.around.hosts.assign(12, {.ports = {{.beta = 8e-10}}});
  const std::string text = report(all_reduce(1024), facts);
  has(text, "(least predicted time)");
  const std::size_t starred = text.find("\n* ");
  REQUIRE(starred != std::string::npos);
  has(text.substr(starred, text.find('\n', starred + 1) - starred), " 1.00x");
}

TEST_CASE("between GPUs of several hosts: in steps, or through the hosts") {
  const auto on_hosts_of = [](const std::vector<int>& sizes, const Call& call,
                              std::string_view algorithm = {}) {
    return why::report_on_devices(call, on_hosts(sizes, Numbering::by_host),
                                  AlgorithmSelection(algorithm, "a test"));
  };
  const std::string text = on_hosts_of({8, 8}, all_reduce(16 << 20));
  has(text, "path        hierarchical, in steps: inside hosts from GPU to GPU");
  has(text, "step 1      inside hosts reduce_scatter of 2097152 x float32\n");
  has(text, "step 2      across all_reduce of 2097152 x float32\n");
  has(text, "step 3      inside hosts all_gather of 2097152 x float32\n");
  const Call last{.count = 1 << 20, .collective = Collective::broadcast, .root = 15};
  has(on_hosts_of({8, 8}, last), "step 1      inside hosts scatter of 131072 x uint8\n");
  const Call scatter{.count = 1 << 20, .collective = Collective::reduce_scatter};
  has(on_hosts_of({4, 4, 4}, scatter),
      "step 1      copies inside the GPU; inside hosts reduce_scatter");
  const Call all_to_all{.count = 1 << 16, .collective = Collective::all_to_all};
  has(on_hosts_of({8, 8}, all_to_all), "step 3      copies inside the GPU\n");
  const Call gather{.count = 1 << 16, .collective = Collective::gather, .root = 3};
  has(on_hosts_of({4, 4}, gather), "step 3      copies inside the GPU\n");
  const std::string through = "path        through the hosts' memory, as a call on host buffers";
  has(on_hosts_of({8, 7}, all_reduce(16 << 20)), through);
  has(on_hosts_of({8, 8}, all_reduce(1 << 10)), through);
  has(on_hosts_of({8, 8}, all_reduce(16 << 20), "ring"), through);
}

TEST_CASE("between GPUs: by hand, by a program, or by copies") {
  const auto on_devices = [](const Call& call, std::string_view algorithm = {}) {
    return why::report_on_devices(call, {.ranks = 8, .one_machine = true},
                                  AlgorithmSelection(algorithm, "a test"));
  };
  has(on_devices(all_reduce(64)), "one_shot");
  has(on_devices(all_reduce(16 << 10)), "two_shot: each rank adds up a part");
  const std::string large = on_devices(all_reduce(16 << 20));
  has(large, "all_reduce of 16777216 x float32 between 8 GPUs, one for each rank\n");
  has(large, "algorithm   two_shot\n");
  has(large, "blocks      up to 32 of 512 threads");
  has(large, "messages    frames of 65536 B\n");
  has(large, "slices      4 passes, each of up to 65536 B");
  has(on_devices(all_reduce(16 << 20), "ring"), "algorithm   ring\n");
  Call average = all_reduce(16 << 20);
  average.type = average.accumulate = DataType::int32;
  average.op = ReduceOperator::avg;
  has(on_devices(average, "ring"), "through the host's memory");
  has(on_devices(average, "ring"), "integers are divided once");
  has(on_devices({.count = 1000, .collective = Collective::all_gather}),
      "packets that carry their flags");
  has(why::report_on_devices(all_reduce(64), {.ranks = 33, .one_machine = true}, {}),
      "path        through the host's memory");
  CHECK_THROWS_AS(on_devices(all_reduce(64),
                             "all_reduce:^one_shot,two_shot,direct,ring,"
                             "bidirectional_ring,circulant,double_tree,"
                             "recursive_doubling,binomial_tree,chain,"
                             "hierarchical"),
                  Error);
}

TEST_CASE("an impossible call is an error") {
  CHECK_THROWS_AS(report(all_reduce(64), network(4), "direct"), Error);
  std::string every;
  for (const std::string_view name : algorithm_names(Collective::all_reduce))
    every += (every.empty() ? "all_reduce:^" : ",") + std::string(name);
  CHECK_THROWS_AS(report(all_reduce(64), network(4), every), Error);
}

TEST_CASE("predictions are sorted; those that would take long are estimated") {
  const Algorithm* ring = find_algorithm(Collective::all_reduce, "ring");
  const Algorithm* tree = find_algorithm(Collective::all_reduce, "binomial_tree");
  const auto simulation = [](const Schedule& schedule) {
    return simulate(schedule, 1e3, {.alpha = 1e-6});
  };
  const std::vector<Composition> rows{{.across = ring}, {.across = tree}};
  const auto predicted = [&](int ranks) {
    return predict(rows, {.ranks = ranks, .network_alpha = 1e-6}, 0, 1e3, 1'000'000, simulation);
  };
  const auto few = predicted(16);
  CHECK(few[0].algorithm.across == tree);  // 8 rounds against 30
  CHECK(few[1].algorithm.across == ring);
  CHECK(few[1].simulated);
  const auto many = predicted(2000);
  CHECK(many[0].algorithm.across == tree);
  CHECK_FALSE(many[1].simulated);
  CHECK(many[1].cost.seconds > 3998e-6);  // 2(P-1) rounds
}

TEST_CASE("jobs do what it says, in the same words") {
  for (const std::string transport : {"shm", "tcp"}) {
    for (const std::string bytes : {"64", "1M"}) {
      const std::string what = bytes + " --transport " + transport;
      const std::string report =
          test::run_command("'" RONDO_PROGRAM "' why all_reduce --ranks 2 " + what).output;
      const auto [status, log] = test::run_command(
          "RONDO_DEBUG=INFO '" RONDORUN_PROGRAM "' -n 2 '" PERF_PROGRAM "' -n 1 -w 1 -b " + bytes +
          " -e " + bytes + " --transport " + transport);
      CHECK(status == 0);
      const std::string said = first_sentence(report);
      REQUIRE(said.starts_with("all_reduce of "));
      CHECK(logged_sentence(log, said.substr(0, said.find(':'))) == said);
    }
  }
}
