// Jobs that go well: real data through real processes, over each transport and a mixture.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;

namespace {

/// Ranks 0 and 1 say that they are on one machine, the others that they are on another.
const Words two_machines{"0,1:set=RONDO_HOSTID=first", "^0,1:set=RONDO_HOSTID=second"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void check_clean(const Result& result) {
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 0);
  CHECK(trouble(result.error) == "");
  CHECK(failures_in(result.output).empty());
}

}  // namespace

TEST_CASE("every collective is right for each number of ranks, size and transport") {
  const int ranks = GENERATE(2, 3, 5, 8);
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const auto result =
      finish(job_of(ranks, transport,
                    {"join", "every_collective=0", "every_collective=1", "every_collective=1000",
                     "every_collective=1000000", "every_operator=1000", "overlap=3000",
                     "split=1000", "say=done"}));
  check_clean(result);
  CHECK(count_of(result.output, "done ") == ranks);
}

TEST_CASE("these tests would notice wrong data") {
  const auto result = finish(job_of(3, {}, {"join", "1:stray", "call=all_reduce,1000"}));
  CHECK(result.status == 4);
  CHECK(count_of(result.output, " is WRONG: all_reduce") == 3);
}

TEST_CASE("each pair of ranks gets the best transport: here shm within a machine, tcp between") {
  const auto result = finish(
      job_of(4, {},
             two_machines + Words{"join", "describe=1000", "every_collective=0",
                                  "every_collective=1", "every_collective=1000",
                                  "every_collective=1000000", "overlap=3000", "split=1000"}));
  check_clean(result);
  CHECK(count_of(result.output, " over shm+tcp") + count_of(result.output, " over tcp+shm") == 4);
}

TEST_CASE("compositions are right on hosts of different sizes, numbered in any order") {
  const Words hosts =
      GENERATE(Words{"0,1,2:set=RONDO_HOSTID=first", "^0,1,2:set=RONDO_HOSTID=second"},
               Words{"0,2:set=RONDO_HOSTID=first", "^0,2:set=RONDO_HOSTID=second"});
  const std::string inside = GENERATE(as<std::string>(), "one_shot", "binomial_tree", "chain");
  const std::string across = GENERATE(as<std::string>(), "ring", "one_shot", "chain", "circulant");
  const auto result = finish(job_of(
      5,
      {"--algorithm", "hierarchical(" + inside + "," + across +
                          "),hierarchical(linear,linear),hierarchical(one_shot,dissemination)"},
      hosts + Words{"join", "every_collective=0", "every_collective=1", "every_collective=50000"}));
  check_clean(result);
}

TEST_CASE("forced transports and algorithms are used, excluded ones are not") {
  struct Case {
    Words options;
    Words environment;
    std::string expected;
  };
  const auto wanted = GENERATE(values<Case>({
      {{}, {}, " over shm ("},
      {{"--transport", "tcp"}, {}, " over tcp ("},
      {{"--transport", "^shm"}, {}, " over tcp ("},
      {{}, {"NCCL_SHM_DISABLE=1"}, " over tcp ("},
      {{"--algorithm", "ring"}, {}, "uses ring over"},
      {{"--algorithm", "all_reduce:circulant"}, {}, "uses circulant over"},
      {{}, {"NCCL_ALGO=Tree"}, "uses double_tree over"},
      {{"--algorithm", "^ring,bidirectional_ring,circulant,one_shot"}, {}, "uses "},
  }));
  auto command = job_of(3, wanted.options, {"join", "describe=1000", "call=all_reduce,1000"});
  command.environment = wanted.environment;
  const auto result = finish(command);
  check_clean(result);
  CHECK(count_of(result.output, wanted.expected) == 3);
}

TEST_CASE("ranks started by hand need no rondorun") {
  const int port = free_port();
  const Words script{"join", "every_collective=1000", "say=done"};
  Process first(rank_of(0, 3, port, script));
  Process second(rank_of(1, 3, port, script));
  Process third(rank_of(2, 3, port, script));
  for (Process* process : {&first, &second, &third}) {
    CHECK(process->wait() == 0);
    CHECK(trouble(process->error()) == "");
  }
}

TEST_CASE("the bootstrap may be by a unique id, which any rank may have made") {
  const int maker = GENERATE(0, 2);
  const TemporaryFolder folder;
  const auto result = finish(job_of(3, {},
                                    {"join_by_id=" + std::to_string(maker) + "," + (folder / "id"),
                                     "every_collective=1000", "split=100", "finalize"}));
  check_clean(result);
}

TEST_CASE("the rank that serves the bootstrap may finish first: it waits for those that go on") {
  const TemporaryFolder folder;
  const std::string join = GENERATE(as<std::string>(), "join", "join_by_id=2,");
  const auto result = finish(job_of(4, {},
                                    {join == "join" ? join : join + (folder / "id"), "keep_half",
                                     "1,3:compute=50", "1,3:keep_copy", "call=all_reduce,1000"}));
  check_clean(result);
}

TEST_CASE("one rank alone needs nobody") {
  Command command;
  command.words = {job_rank_program(), "join", "every_collective=1000", "split=10"};
  check_clean(finish(command));
}

TEST_CASE("a job leaves nothing: no descriptor, no file, no process") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const TemporaryFolder folder;
  const auto before = shared_memory_files();
  auto command = job_of(3, transport, {"leak_check=100000"});
  command.environment = {"TMPDIR=" + folder.path()};
  const auto result = finish(command);
  check_clean(result);
  CHECK(count_of(result.output, " keeps 0 descriptors") == 3);
  CHECK(folder.names().empty());
  // Other programs' files come and go; what this job left would stay.
  const auto left = [&] {
    std::vector<std::string> names = shared_memory_files();
    std::erase_if(names, [&](const std::string& name) {
      return std::find(before.begin(), before.end(), name) != before.end();
    });
    return names;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::vector<std::string> stays = left();
  while (!stays.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::vector<std::string> now = left();
    std::erase_if(stays, [&](const std::string& name) {
      return std::find(now.begin(), now.end(), name) == now.end();
    });
  }
  CHECK(stays.empty());
}

TEST_CASE("ranks may end at different times and in different ways without a word") {
  const auto script = GENERATE(values<Words>({
      {"join", "call=all_reduce,1000", "finalize", "drop"},
      {"join", "call=all_reduce,1000", "finalize"},
      {"join", "call=all_reduce,1000", "drop"},
      {"join", "call=all_reduce,1000"},
      {"join", "call=all_reduce,1000", "0:compute=300", "3:compute=100"},
      {"join", "call=all_reduce,1000", "2:compute=300", "finalize"},
      {"join", "call=broadcast,100000", "1:compute=100", "call=reduce,10"},
  }));
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  for (int time = 0; time < 2; ++time) check_clean(finish(job_of(5, transport, script)));
}
