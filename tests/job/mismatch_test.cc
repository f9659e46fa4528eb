// Ranks that disagree: each of them learns what both sides call, long before the deadline.
#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;

namespace {

struct Disagreement {
  std::string ours;    ///< ranks 0, 2 and 3
  std::string theirs;  ///< rank 1
  std::string our_words;
  std::string their_words;
};

const std::vector<Disagreement> disagreements{
    {"all_reduce,1000", "all_reduce,1001", "all_reduce #2 (1000 x float32, sum)",
     "all_reduce #2 (1001 x float32, sum)"},
    {"all_reduce,3000000", "all_reduce,3000001", "all_reduce #2 (3000000 x float32, sum)",
     "all_reduce #2 (3000001 x float32, sum)"},
    {"all_reduce,5", "all_reduce,3000000", "all_reduce #2 (5 x float32, sum)",
     "all_reduce #2 (3000000 x float32, sum)"},
    {"all_reduce,1000", "all_reduce,0", "all_reduce #2 (1000 x float32, sum)",
     "all_reduce #2 (0 x float32, sum)"},
    {"all_reduce,0", "all_reduce,1000", "all_reduce #2 (0 x float32, sum)",
     "all_reduce #2 (1000 x float32, sum)"},
    {"all_gather,200000", "all_gather,0", "all_gather #2 (200000 x float32)",
     "all_gather #2 (0 x float32)"},
    {"all_reduce,1000,float32", "all_reduce,1000,int32", "all_reduce #2 (1000 x float32, sum)",
     "all_reduce #2 (1000 x int32, sum)"},
    {"all_reduce,1000,float32", "all_reduce,1000,float64", "all_reduce #2 (1000 x float32, sum)",
     "all_reduce #2 (1000 x float64, sum)"},
    {"all_reduce,1000,float32,sum", "all_reduce,1000,float32,max",
     "all_reduce #2 (1000 x float32, sum)", "all_reduce #2 (1000 x float32, max)"},
    {"broadcast,1000,float32,sum,0", "broadcast,1000,float32,sum,1",
     "broadcast #2 (1000 x float32, root 0)", "broadcast #2 (1000 x float32, root 1)"},
    {"reduce,500000,float32,sum,3", "reduce,500000,float32,sum,2",
     "reduce #2 (500000 x float32, sum, root 3)", "reduce #2 (500000 x float32, sum, root 2)"},
    {"all_reduce,1000", "all_gather,1000", "all_reduce #2 (1000 x float32, sum)",
     "all_gather #2 (1000 x float32)"},
    {"all_to_all,50000", "scatter,50000,float32,sum,0", "all_to_all #2 (50000 x float32)",
     "scatter #2 (50000 x float32, root 0)"},
    {"barrier", "all_reduce,1000", "barrier #2", "all_reduce #2 (1000 x float32, sum)"},
    {"reduce_scatter,100000", "barrier", "reduce_scatter #2 (100000 x float32, sum)", "barrier #2"},
};

}  // namespace

TEST_CASE("ranks that disagree are told both sides, all of them and soon") {
  const Disagreement& wrong = GENERATE(from_range(disagreements));
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  // A rank whose call has nothing to do learns of it in the next call that has.
  const auto result = finish(job_of(
      4, transport,
      {"join", "call=barrier", "1:call=" + wrong.theirs, "^1:call=" + wrong.ours, "call=barrier"}));
  INFO(wrong.ours << " and " << wrong.theirs << " over " << transport[1] << "\n"
                  << result.output << "\n"
                  << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 4);
  for (const auto& [rank, failure] : failures) {
    INFO(failure.text);
    CHECK(failure.code == "mismatch");
    const bool came = contains(failure.text, "[in ");
    CHECK((rank == 1 || !came ? failure.peer != rank : failure.peer == 1));
    // Ranks among 0, 2 and 3 that have not reached it yet are not named.
    CHECK((contains(failure.text, " call " + wrong.our_words) ||
           contains(failure.text, " calls " + wrong.our_words)));
    CHECK(contains(failure.text, "rank 1 calls " + wrong.their_words));
    CHECK(contains(failure.text, "Try: "));
    CHECK(failure.seconds < 60);
  }
}

TEST_CASE("a send and its receive that differ are an error on both sides, before the deadline") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const std::string theirs =
      GENERATE(as<std::string>(), "send_recv,1001", "send_recv,1000,int32", "send_recv,0");
  auto command =
      job_of(2, transport,
             {"join", "call=barrier", "1:call=" + theirs, "0:call=send_recv,1000", "call=barrier"});
  command.words.insert(command.words.begin() + 1, {"--timeout", "60"});
  const auto result = finish(command);
  INFO(theirs << " over " << transport[1] << "\n" << result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == 2);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == "mismatch");
    CHECK(failure.peer == 1 - rank);
    CHECK(failure.seconds < 30);
  }
}

TEST_CASE("a disagreement in a split communicator names its members") {
  const auto result = finish(job_of(
      4, {},
      {"join", "split=10", "call=barrier", "2:call=all_reduce,10", "^2:call=all_reduce,11"}));
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  for (const auto& [rank, failure] : failures_in(result.output)) {
    CHECK(failure.code == "mismatch");
    CHECK(contains(failure.text, "rank 2 calls all_reduce"));
  }
}
