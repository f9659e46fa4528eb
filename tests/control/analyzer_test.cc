// Results of a hang diagnosis as people read them; each case differs from its neighbours.
#include "core/control/analyzer.h"

#include "tests/catch.h"

namespace rondo::control {
namespace {

Call sum_of(std::uint64_t sequence, std::uint64_t count) {
  return {.sequence = sequence,
          .count = count,
          .collective = Collective::all_reduce,
          .type = DataType::float32};
}

/// A rank whose calls 1 to `begun` sum `count` elements; all but `open` of them are complete.
RankReport rank_report(int rank, std::uint64_t begun, std::uint64_t open, std::uint64_t count = 4) {
  RankReport made{.host = {.host = "h", .hostname = "x", .process = 1, .pid = 70 + rank},
                  .world_rank = rank};
  made.report.begun = begun;
  made.report.completed = begun - open;
  for (std::uint64_t sequence = 1; sequence <= begun; ++sequence) {
    made.report.calls.push_back(sum_of(sequence, count));
  }
  return made;
}

std::string text_of(const Verdict& verdict) {
  if (!verdict.fault) return verdict.note.empty() ? "nothing" : "note: " + verdict.note;
  return std::string(name(verdict.fault->code)) + ": " + verdict.fault->message;
}

const Stall at_3{.from = 3, .to = 3, .milliseconds = 300000};
const Stall at_3_expired{.from = 3, .to = 3, .milliseconds = 300000, .expired = 1};

TEST_CASE("everybody in the same call: nothing to say, until the deadline") {
  const std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 3, 1)};
  CHECK(text_of(analyze(0, at_3, ranks)) == "nothing");
  CHECK(text_of(analyze(0, at_3_expired, ranks)) ==
        "timeout: all_reduce #3 (4 x float32, sum) did not complete within 300 s although every "
        "rank has entered it");
}

TEST_CASE("one rank is late") {
  const std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 3, 1),
                                      rank_report(2, 2, 0)};
  CHECK(text_of(analyze(0, at_3, ranks)) ==
        "note: in all_reduce #3 (4 x float32, sum): waiting for rank 2 (host x, pid 72), which has "
        "not entered it; its last call was all_reduce #2 (4 x float32, sum), complete; it is "
        "computing, in a send or recv, or stuck outside rondo");
  CHECK(text_of(analyze(0, at_3_expired, ranks)) ==
        "timeout: all_reduce #3 (4 x float32, sum) did not complete within 300 s: rank 2 (host x, "
        "pid 72) has not entered it; its last call was all_reduce #2 (4 x float32, sum), complete; "
        "it is computing, in a send or recv, or stuck outside rondo");
}

TEST_CASE("one rank is late, for it waits in a receive") {
  std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 3, 1), rank_report(2, 2, 0)};
  ranks[2].waits = Waiting{1, "recv of 4 x int32"};
  CHECK(text_of(analyze(0, at_3_expired, ranks)) ==
        "timeout: all_reduce #3 (4 x float32, sum) did not complete within 300 s: rank 2 (host x, "
        "pid 72) has not entered it; its last call was all_reduce #2 (4 x float32, sum), complete; "
        "it waits in recv of 4 x int32 for rank 1");
}

TEST_CASE("several ranks are late, and the one that does not answer is named first") {
  std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 2, 0), rank_report(2, 2, 1),
                                rank_report(3, 0, 0)};
  ranks[3].answered = false;
  CHECK(text_of(analyze(0, at_3, ranks)) ==
        "note: in all_reduce #3 (4 x float32, sum): waiting for ranks 1-3; first rank 3 (host x, "
        "pid 73), which does not answer: its process is stopped or its machine cannot be reached");
}

TEST_CASE("the first difference between any two ranks ends the diagnosis, whoever asked") {
  std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 3, 1), rank_report(2, 3, 1)};
  ranks[2].report.calls[2] = sum_of(3, 8);
  CHECK(text_of(analyze(0, at_3, ranks)) ==
        "mismatch: ranks 0, 1 call all_reduce #3 (4 x float32, sum) but rank 2 calls all_reduce #3 "
        "(8 x float32, sum)");
  ranks[0].report.calls[2] = {.sequence = 3};
  CHECK(text_of(analyze(1, at_3, ranks)) ==
        "mismatch: rank 0 calls barrier #3 but rank 1 calls all_reduce #3 (4 x float32, sum) "
        "(further differing calls: 1)");
  CHECK(analyze(1, at_3, ranks).fault->peer == std::vector<int>{1, 0, 0});
  CHECK(analyze(1, at_3, ranks).fault->call[2] == "all_reduce #3 (8 x float32, sum)");
}

TEST_CASE("each field of a call can make the difference") {
  const auto disagree = [](auto change) {
    std::vector<RankReport> ranks{rank_report(0, 1, 1), rank_report(1, 1, 1)};
    change(ranks[1].report.calls[0]);
    return analyze(0, {.from = 1, .to = 1}, ranks).fault.has_value();
  };
  CHECK_FALSE(disagree([](Call&) {}));
  CHECK(disagree([](Call& call) { call.collective = Collective::all_gather; }));
  CHECK(disagree([](Call& call) { ++call.count; }));
  CHECK(disagree([](Call& call) { call.type = DataType::int32; }));
  CHECK(disagree([](Call& call) { call.op = ReduceOperator::max; }));
  CHECK(disagree([](Call& call) { ++call.root; }));
}

TEST_CASE("a difference in a call that one side has already completed is found") {
  std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 4, 0, 8)};
  CHECK(analyze(0, at_3, ranks).fault->code == ErrorCode::mismatch);
}

TEST_CASE("a rank that has left is not waited for") {
  std::vector<RankReport> ranks{rank_report(0, 3, 1), rank_report(1, 2, 0)};
  ranks[1].left = true;
  CHECK(text_of(analyze(0, at_3, ranks)) ==
        "mismatch: rank 1 (host x, pid 71) has left the communicator (its last call was all_reduce "
        "#2 (4 x float32, sum), complete), but rank 0 waits for it in all_reduce #3 (4 x float32, "
        "sum)");
  ranks[1] = rank_report(1, 3, 0);
  ranks[1].left = true;
  CHECK(text_of(analyze(0, at_3, ranks)) == "nothing");
}

TEST_CASE("a receive without its sender") {
  std::vector<RankReport> ranks{rank_report(0, 3, 0), rank_report(1, 4, 1)};
  ranks[1].world_rank = 6;
  Stall stall{.milliseconds = 500, .peer = 1, .what = "recv (8 x int32) from rank 1"};
  CHECK(text_of(analyze(0, stall, ranks)) ==
        "note: in recv (8 x int32) from rank 1: waiting for rank 1 (world rank 6, host x, pid 71), "
        "which has not reached it; its last call was all_reduce #4 (4 x float32, sum), not "
        "complete");
  stall.expired = 1;
  CHECK(text_of(analyze(0, stall, ranks)) ==
        "timeout: recv (8 x int32) from rank 1 did not complete within 0.5 s: rank 1 (world rank "
        "6, host x, pid 71) has not reached it; its last call was all_reduce #4 (4 x float32, "
        "sum), not complete");
  CHECK(analyze(0, stall, ranks)
            .fault->remedy.ends_with("or raise RONDO_TIMEOUT if it only needs "
                                     "more time"));
  stall.timeout_from_program = 1;
  CHECK(analyze(0, stall, ranks)
            .fault->remedy.ends_with("or raise the timeout that the program set "
                                     "if it only needs more time"));
  ranks[1].left = true;
  CHECK(analyze(0, stall, ranks).fault->code == ErrorCode::mismatch);
}

TEST_CASE("a receive whose sender waits for a rank that does not answer") {
  std::vector<RankReport> ranks{rank_report(0, 3, 0), rank_report(1, 3, 0), rank_report(2, 3, 0),
                                rank_report(3, 3, 0)};
  Stall stall{.milliseconds = 8000, .peer = 2, .what = "recv of 4 x int32"};
  CHECK_FALSE(text_of(analyze(0, stall, ranks)).ends_with("not answer"));
  ranks[1].answered = false;
  CHECK(text_of(analyze(0, stall, ranks)) ==
        "note: in recv of 4 x int32: waiting for rank 2 (host x, pid 72), which has not reached "
        "it; its last call was all_reduce #3 (4 x float32, sum), complete; it is computing, in a "
        "send or recv, or stuck outside rondo; rank 1 does not answer");
  stall.expired = 1;
  const auto fault = *analyze(0, stall, ranks).fault;
  CHECK(fault.message.ends_with("stuck outside rondo; rank 1 does not answer"));
  CHECK(fault.peer == std::vector<int>{1, 0, 1, 1});
  CHECK(fault.remedy.starts_with("find out what ranks 1, 2 did instead"));
  ranks[2].answered = false;
  CHECK(analyze(0, stall, ranks).fault->peer == std::vector<int>{2, 2, 0, 2});
  CHECK(text_of(analyze(0, stall, ranks)).ends_with("be reached; rank 1 does not answer"));
}

TEST_CASE("a receive whose sender waits for another rank, and so on") {
  std::vector<RankReport> ranks;
  for (int rank = 0; rank < 8; ++rank) ranks.push_back(rank_report(rank, 0, 0));
  Stall stall{.milliseconds = 8000, .peer = 2, .what = "recv of 4 x int32", .expired = 1};
  ranks[2].waits = Waiting{1, "recv of 5 x int32"};
  auto fault = *analyze(0, stall, ranks).fault;
  CHECK(
      fault.message ==
      "recv of 4 x int32 did not complete within 8 s: rank 2 (host x, pid 72) waits in recv of 5 "
      "x int32 for rank 1 (host x, pid 71), which has not reached it; it has made no call yet; it "
      "is computing, in a send or recv, or stuck outside rondo");
  CHECK(fault.peer == std::vector<int>{1, 0, 1, 1, 1, 1, 1, 1});
  CHECK(fault.remedy.starts_with("find out what rank 1 did instead"));
  ranks[2].report.begun = 1;  // it is in a collective by now
  CHECK(analyze(0, stall, ranks).fault->peer[0] == 2);
  ranks[2].report.begun = 0;

  ranks[1].answered = false;
  CHECK(text_of(analyze(0, stall, ranks))
            .ends_with("pid 71), which does not answer: its process is "
                       "stopped or its machine cannot be reached"));
  ranks[1].answered = true;
  ranks[1].left = true;  // its own waiter is told
  CHECK(analyze(0, stall, ranks).fault->peer[0] == 2);
  ranks[1].left = false;

  for (int rank = 1; rank < 7; ++rank)
    ranks[static_cast<std::size_t>(rank)].waits = Waiting{rank + 1, "send of 1 x int8"};
  stall.expired = 0;
  stall.peer = 1;
  CHECK(
      text_of(analyze(0, stall, ranks)) ==
      "note: in recv of 4 x int32: waiting for rank 1 (host x, pid 71), which waits in send of 1 x "
      "int8 for rank 2 (host x, pid 72), which waits in send of 1 x int8 for rank 3 (host x, pid "
      "73), which waits, over 3 more ranks, for rank 7 (host x, pid 77), which has not reached it; "
      "it has made no call yet; it is computing, in a send or recv, or stuck outside rondo");
}

TEST_CASE("ranks that wait for each other in receives") {
  std::vector<RankReport> ranks{rank_report(0, 0, 0), rank_report(1, 0, 0), rank_report(2, 0, 0)};
  const Stall stall{.milliseconds = 8000, .peer = 2, .what = "recv of 4 x int32", .expired = 1};
  ranks[2].waits = Waiting{0, "recv of 5 x int32"};
  const auto with_reporter = *analyze(0, stall, ranks).fault;
  CHECK(
      with_reporter.message.ends_with("rank 2 (host x, pid 72) waits in recv of 5 x int32 for "
                                      "rank 0 (host x, pid 70): they wait for each other"));
  CHECK(with_reporter.peer == std::vector<int>{2, 2, 0});
  CHECK(with_reporter.remedy.starts_with("change the order of these sends and receives"));
  ranks[2].waits->peer = 1;
  ranks[1].waits = Waiting{2, "recv of 5 x int32"};
  const auto among_others = *analyze(0, stall, ranks).fault;
  CHECK(among_others.message.ends_with("for rank 2 (host x, pid 72): they wait for each other"));
  CHECK(among_others.peer == std::vector<int>{2, 2, 0});
}

}  // namespace
}  // namespace rondo::control
