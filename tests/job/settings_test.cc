// Settings as a user makes them: right ones work, wrong ones are refused with the right ones
// listed.
#include <fstream>
#include <iterator>

#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;

TEST_CASE("a wrong setting is an error on every rank that lists the known values") {
  struct Case {
    std::string setting;
    std::vector<std::string> texts;
  };
  const auto wrong = GENERATE(values<Case>({
      {"RONDO_TIMEOUTT=5", {"RONDO_TIMEOUTT", "did you mean RONDO_TIMEOUT?", "RONDO_ALGORITHM"}},
      {"RONDO_COLOR=red", {"RONDO_COLOR", "RONDO_DEBUG, ", "RONDO_TRANSPORT"}},
      {"RONDO_TIMEOUT=soon", {"RONDO_TIMEOUT=soon", "<seconds>", "default 300"}},
      {"RONDO_SLOT_BYTES=64Q", {"RONDO_SLOT_BYTES=64Q", "64K"}},
      {"RONDO_LINK_COSTS=network_alpha=20us", {"\"network_alpha=20us\", which is not", "8e-11"}},
      {"RONDO_LINK_COSTS=gamma=0", {"\"gamma=0\", which is not", "at most 1"}},
      {"RONDO_LINK_COSTS=gamma=1e-10,beta=1", {"\"beta=1\"", "memory_alpha, memory_beta, "}},
      {"RONDO_SOCKETS=99", {"RONDO_SOCKETS=99", "between 1 and 16"}},
      {"RONDO_DEBUG=loud", {"RONDO_DEBUG=loud", "INFO"}},
      {"RONDO_DEBUG_SUBSYS=TEA", {"RONDO_DEBUG_SUBSYS=TEA", "INIT, COLL", "<INIT,NET or ^TUNING>"}},
      {"RONDO_SOCKET_FAMILY=6", {"RONDO_SOCKET_FAMILY=6", "neither AF_INET nor AF_INET6"}},
      {"RONDO_TRANSPORT=infiniband", {"'infiniband'", "local, shm, verbs, tcp"}},
      {"RONDO_TRANSPORT=^shm,tpc", {"'tpc'", "local, shm, verbs, tcp"}},
      {"RONDO_ALGORITHM=quick", {"'quick'", "bidirectional_ring", "two_shot"}},
      {"RONDO_ALGORITHM=all_reduce:linear", {"'linear'", "double_tree"}},
      {"RONDO_ALGORITHM=sum:ring", {"\"sum\"", "all_reduce, reduce_scatter"}},
  }));
  auto command = job_of(2, {}, {"join", "call=all_reduce,100"});
  command.environment = {wrong.setting};
  const auto result = finish(command);
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "configuration");
    CHECK(contains(failure.text, "Try: "));
    for (const std::string& text : wrong.texts) CHECK(contains(failure.text, text));
  }
}

TEST_CASE("settings that leave no transport or algorithm are an error that tells the obstacles") {
  struct Case {
    Words options;
    Words script;
    std::vector<std::string> texts;
  };
  const auto wrong = GENERATE(values<Case>({
      {{"--transport", "shm"},
       {"1:set=RONDO_HOSTID=elsewhere"},
       {"no transport reaches the peer", "shm: the ranks are on different machines",
        "tcp: not allowed by RONDO_TRANSPORT"}},
      {{"--transport", "^shm,tcp"},
       {},
       {"no transport reaches the peer", "shm: not allowed by RONDO_TRANSPORT",
        "local: the ranks are not threads of one process"}},
      {{"--transport", "tcp"},
       {"set=RONDO_SOCKET_IFNAME=nonsense"},
       {"no network interface fits RONDO_SOCKET_IFNAME=nonsense", "lo ("}},
      {{"--algorithm", "all_to_all:^pairwise,linear,bruck,direct"},
       {},
       {"the algorithm selection leaves none for all_to_all", "rondo list"}},
  }));
  Words script = wrong.script;
  script.insert(script.end(), {"join", "call=all_to_all,100"});
  const auto result = finish(job_of(2, wrong.options, script));
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "configuration");
    CHECK(failure.seconds < 60);
    for (const std::string& text : wrong.texts) CHECK(contains(failure.text, text));
  }
}

TEST_CASE("NCCL's settings that rondo lacks give each process one warning, and the job goes on") {
  auto command = job_of(2, {}, {"join", "call=all_reduce,100", "split=10", "drop"});
  command.environment = {"NCCL_NVLS_ENABLE=1", "NCCL_PROTO=LL", "NCCL_IB_DISABLE=1"};
  const auto result = finish(command);
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(count_of(trouble(result.error), "\n") == 2);
  CHECK(count_of(result.error, "rondo has no counterpart for NCCL_NVLS_ENABLE, NCCL_PROTO") == 2);
}

TEST_CASE("rank 0's settings hold for all, and a rank that has others says so") {
  const auto result = finish(job_of(
      3, {}, {"0:set=RONDO_TRANSPORT=tcp", "join", "describe=1000", "every_collective=1000"}));
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 0);
  CHECK(count_of(result.output, " over tcp (") == 3);
  CHECK(count_of(result.error, "settings differ from rank 0's") == 2);
}

TEST_CASE("rank 0 decides whether there is a trace, but not where others write theirs") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rondo_trace." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto file = [](const std::filesystem::path& place, int rank) {
    return place / ("of_job." + std::to_string(rank));
  };
  const auto result = finish(job_of(
      2, {}, {"0:set=RONDO_TRACE=" + (folder / "of_job").string(), "join", "call=all_reduce,100"}));
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 0);
  const auto here = std::filesystem::current_path();
  CHECK(std::filesystem::exists(file(folder, 0)));
  CHECK_FALSE(std::filesystem::exists(file(folder, 1)));
  CHECK(std::filesystem::exists(file(here, 1)));
  std::filesystem::remove(file(here, 1));
  std::filesystem::remove_all(folder);
}

TEST_CASE("RONDO_LINK_COSTS decides which algorithm carries calls between hosts; rank 0's holds") {
  const auto result_with = [](const std::string& who, const std::string& costs) {
    auto result = finish(job_of(
        4, {},
        {"0,1:set=RONDO_HOSTID=first", "2,3:set=RONDO_HOSTID=second",
         who + "set=RONDO_LINK_COSTS=" + costs, "join", "describe=1000", "every_collective=1000"}));
    INFO(result.output << "\n" << result.error);
    CHECK(result.status == 0);
    return result;
  };
  const std::string slow_memory = "memory_alpha=0.1,memory_beta=1e-6";
  const auto fast = result_with("", "memory_alpha=1e-7,memory_beta=1e-11");
  CHECK(count_of(fast.output, "uses hierarchical(") == 4);
  CHECK(trouble(fast.error) == "");
  CHECK(count_of(result_with("", slow_memory).output, "uses hierarchical(") == 0);
  const auto of_rank_0 = result_with("0:", slow_memory);
  CHECK(count_of(of_rank_0.output, "uses hierarchical(") == 0);
  CHECK(count_of(of_rank_0.error, "settings differ from rank 0's") == 3);
  CHECK(count_of(result_with("1:", slow_memory).output, "uses hierarchical(") == 4);
}

TEST_CASE("odd sizes of buffers and several sockets still give right results") {
  const std::string setting =
      GENERATE(as<std::string>(), "RONDO_SLOT_BYTES=1", "RONDO_SLOT_BYTES=100",
               "RONDO_SLOT_BYTES=1M", "RONDO_SOCKETS=3");
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  auto command = job_of(3, transport, {"join", "every_collective=1000", "every_collective=100000"});
  command.environment = {setting};
  const auto result = finish(command);
  INFO(setting << " " << transport[1] << "\n" << result.output << "\n" << result.error);
  CHECK(result.status == 0);
  CHECK(trouble(result.error) == "");
}

TEST_CASE("RONDO_DEBUG=INFO tells what is used, in a file when asked") {
  const TemporaryFolder folder;
  auto command = job_of(2, {"--debug", "info"}, {"join", "call=all_reduce,100"});
  command.environment = {"RONDO_DEBUG_FILE=" + (folder / "log.%p")};
  const auto result = finish(command);
  CHECK(result.status == 0);
  CHECK(trouble(result.error) == "");
  CHECK(folder.names().size() == 2);
  for (const std::string& name : folder.names())
    CHECK(contains(read_file(folder / name), "2 ranks by torchrun"));
}

TEST_CASE("RONDO_DEBUG_SUBSYS leaves lines of the log out") {
  struct Case {
    std::string setting;
    bool tells_start;
    bool tells_choice;
  };
  const auto [setting, tells_start, tells_choice] = GENERATE(values<Case>({
      {"RONDO_DEBUG_SUBSYS=ALL", true, true},
      {"RONDO_DEBUG_SUBSYS=TUNING", false, true},
      {"NCCL_DEBUG_SUBSYS=INIT,ENV", true, false},
      {"NCCL_DEBUG_SUBSYS=^INIT", false, true},
      {"NCCL_DEBUG_SUBSYS=COLL", false, false},
  }));
  auto command = job_of(2, {"--debug", "info"}, {"join", "call=all_reduce,100"});
  command.environment = {setting};
  const auto result = finish(command);
  INFO(setting << "\n" << result.error);
  CHECK(result.status == 0);
  CHECK(contains(result.error, "2 ranks by torchrun") == tells_start);
  CHECK(contains(result.error, "a communicator of 2 ranks") == tells_start);
  CHECK(contains(result.error, "INFO  all_reduce") == tells_choice);
}

TEST_CASE("an unknown subsystem is a warning by NCCL's name, and all are logged") {
  auto command = job_of(1, {"--debug", "info"}, {"join"});
  command.environment = {"NCCL_DEBUG_SUBSYS=INIT,TEA"};
  const auto result = finish(command);
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(count_of(result.error, "rondo has no counterpart for NCCL_DEBUG_SUBSYS=INIT,TEA") == 1);
  CHECK(contains(result.error, "INFO  "));
}

TEST_CASE("a job on this machine's IPv4 or IPv6 addresses") {
  const std::string family = GENERATE(as<std::string>(), "AF_INET", "AF_INET6");
  std::ifstream addresses("/proc/net/if_inet6");
  const std::string present{std::istreambuf_iterator<char>(addresses), {}};
  if (family == "AF_INET6" && !contains(present, " lo\n")) {
    WARN("no ::1 here");
    return;
  }
  const TemporaryFolder folder;
  auto command = job_of(2, {"--transport", "tcp"},
                        {"join_by_id=1," + (folder / "id"), "every_collective=10000", "say=done"});
  command.environment = {"NCCL_SOCKET_FAMILY=" + family, "NCCL_SOCKET_IFNAME=lo"};
  const auto result = finish(command);
  INFO(family << "\n" << result.output << "\n" << result.error);
  CHECK(result.status == 0);
  CHECK(trouble(result.error) == "");
  CHECK(count_of(result.output, "done ") == 2);
}
