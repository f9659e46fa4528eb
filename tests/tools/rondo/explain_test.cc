// The explainer's data and its text, compared as a person reads it.
#include "tools/rondo/explain/explain.h"

#include <algorithm>
#include <sstream>

#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"
#include "tools/rondo/explain/holdings.h"

using namespace rondo;
using namespace rondo::tool;

namespace {

const CostFormulas ring_cost{"2(P-1)", "2(P-1)", "2(P-1)/P", {}, "(P-1)/P"};

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

}  // namespace

TEST_CASE("the textbook table of a ring all-reduce") {
  CHECK(render(explain(handmade::ring(4)), ring_cost) == R"(all_reduce by ring, 4 ranks
N elements in 4 chunks a to d
a01 is chunk a with the contributions of ranks 0 and 1, a* of all ranks

What each rank sends
     rank 0  rank 1  rank 2  rank 3
reduce-scatter
  1  d0      a1      b2      c3
  2  c03     d01     a12     b23
  3  b023    c013    d012    a123
     (each rank sends to rank + 1)
all-gather
  1  a*      b*      c*      d*
  2  d*      a*      b*      c*
  3  c*      d*      a*      b*
     (each rank sends to rank + 1)

What each rank then has received, reduced or copied
     rank 0  rank 1  rank 2  rank 3
reduce-scatter
  1  c03     d01     a12     b23
  2  b023    c013    d012    a123
  3  a*      b*      c*      d*
all-gather
  1  d*      a*      b*      c*
  2  c*      d*      a*      b*
  3  b*      c*      d*      a*

Complete after reduce-scatter: rank 0 has a, rank 1 b, rank 2 c, rank 3 d

Messages and elements that every rank has sent by then
reduce-scatter
  1  1 message, 0.25N
  2  2 messages, 0.5N
  3  3 messages, 0.75N
all-gather
  1  4 messages, 1N
  2  5 messages, 1.25N
  3  6 messages, 1.5N

Output at the end
  rank 0: a* b* c* d*
  rank 1: a* b* c* d*
  rank 2: a* b* c* d*
  rank 3: a* b* c* d*

Busiest rank  cost line           counted  lower bound
rounds        2(P-1) = 6          6        q = 2
hops          2(P-1) = 6          6
sent          2(P-1)/P N = 1.5 N  1.5 N    2(P-1)/P N = 1.5 N
received                          1.5 N    2(P-1)/P N = 1.5 N
reduced       (P-1)/P N = 0.75 N  0.75 N   (P-1)/P N = 0.75 N
P = 4 ranks, q = ceil(log2 P) = 2; hops: messages that must follow each other
Verified: every output is right, nothing can wait for ever.
)");
}

TEST_CASE("the data behind the text") {
  const Explanation explanation = explain(handmade::ring(4));
  REQUIRE(explanation.rounds.size() == 6);
  const ExplainedRound& second = explanation.rounds[1];
  CHECK(second.phase == 0);
  CHECK(second.round == 1);
  REQUIRE(second.messages.size() == 4);
  CHECK(second.messages[0].from == 0);
  CHECK(second.messages[0].to == 1);
  CHECK(second.messages[0].pieces == std::vector<Piece>{{2, 2, {0, 3}}});
  REQUIRE(second.results.size() == 4);
  CHECK(second.results[3].reduced);
  CHECK(second.results[3].buffer == Buffer::scratch);
  CHECK(second.totals == std::vector<RankTotal>(4, {2, 0.5}));
  CHECK(explanation.outputs[3] == std::vector<Piece>{{0, 4, {0, 1, 2, 3}},
                                                     {1, 4, {0, 1, 2, 3}},
                                                     {2, 4, {0, 1, 2, 3}},
                                                     {3, 4, {0, 1, 2, 3}}});
  CHECK(explanation.findings.empty());
  CHECK(explanation.counts.hops == 6);
}

TEST_CASE("with sizes: real ranges, bytes instead of N") {
  const Explanation explanation =
      explain(handmade::ring(4), {.sizes = ExplainedSizes{.count = 10, .type = DataType::float64}});
  CHECK(explanation.rounds[1].messages[0].bytes == 16);  // c, elements 5 and 6
  CHECK(explanation.rounds[1].totals[0].bytes == 24 + 16);
  CHECK(explanation.totals[0].bytes == 120);
  CHECK(explanation.bytes.reduced == 64);  // ranks 1 and 3, which add the short chunks a and c once
  const std::string text = render(explanation, ring_cost);
  INFO(text);
  CHECK(text.find(R"(10 elements of float64 (80 B) in 4 chunks a to d
elements: a 0-1, b 2-4, c 5-6, d 7-9
)") != std::string::npos);
  CHECK(text.find(R"(Messages and bytes sent by then
     rank 0  rank 1  rank 2  rank 3
reduce-scatter
  1  1 24B   1 16B   1 24B   1 16B
  2  2 40B   2 40B   2 40B   2 40B
  3  3 64B   3 56B   3 64B   3 56B
)") != std::string::npos);
  CHECK(text.find(R"(Busiest rank  cost line           counted  lower bound
rounds        2(P-1) = 6          6        q = 2
hops          2(P-1) = 6          6
sent          2(P-1)/P N = 120 B  120 B    2(P-1)/P N = 120 B
received                          120 B    2(P-1)/P N = 120 B
reduced       (P-1)/P N = 60 B    64 B     (P-1)/P N = 60 B
)") != std::string::npos);
  CHECK(text.find("N = 80 B; its chunks differ in size, which the formulas do not know\n") !=
        std::string::npos);
}

TEST_CASE("numbers are carried through and added up") {
  const ExplainOptions options{.sizes = ExplainedSizes{.count = 3},
                               .inputs = {{1, 2, 3}, {10, 20, 30}, {100, 200, 400}}};
  const std::string text = render(explain(handmade::ring(3), options), ring_cost);
  INFO(text);
  CHECK(text.find(R"(
What each rank holds, as numbers; [..] has been written in that round
at the start
          a      b      c
  rank 0  1      2      3
  rank 1  10     20     30
  rank 2  100    200    400
reduce-scatter, after round 1
          a      b      c
  rank 0  1      [202]  3
  rank 1  10     20     [33]
  rank 2  [110]  200    400
reduce-scatter, after round 2
          a      b      c
  rank 0  [111]  202    3
  rank 1  10     [222]  33
  rank 2  110    200    [433]
all-gather, after round 1
          a      b      c
  rank 0  111    202    [433]
  rank 1  [111]  222    33
  rank 2  110    [222]  433
all-gather, after round 2
          a      b      c
  rank 0  111    [222]  433
  rank 1  111    222    [433]
  rank 2  [111]  222    433
)") != std::string::npos);
}

TEST_CASE("numbers and sizes that do not fit are refused") {
  const auto refused = [](const ExplainOptions& options, const std::string& words) {
    try {
      explain(handmade::ring(2), options);
      FAIL("not refused: " << words);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  };
  refused({.inputs = {{1, 2}, {3, 4}}}, "values without a count");
  refused({.sizes = ExplainedSizes{.count = 2}, .inputs = {{1, 2}}}, "values of 1 ranks for 2");
  refused({.sizes = ExplainedSizes{.count = 2}, .inputs = {{1, 2}, {3}}},
          "1 values for an input of 2");
}

TEST_CASE("what a rank holds: output before the fullest scratch before its input") {
  const Explanation explanation = explain(
      handmade::listed(Collective::all_reduce, 2,
                       {{receive(1, scratch(0, 0)), receive_reduce(1, input(1), scratch(1, 1)),
                         receive(1, output(1)).at(0, 1), receive(1, scratch(0, 1)).at(0, 2),
                         receive(1, output(0)).at(0, 2)},
                        {send(0, input(0)), send(0, input(1)), send(0, input(1)).at(0, 1),
                         send(0, input(1)).at(0, 2), send(0, input(0)).at(0, 2)}}));
  const auto at = [&](std::size_t rounds, std::size_t chunk) {
    return holdings(explanation, rounds)[0][chunk];
  };
  CHECK(at(0, 0).piece == Piece{0, 1, {0}});
  CHECK_FALSE(at(0, 0).fresh);
  CHECK(at(1, 0).piece == Piece{0, 1, {0}});  // another rank's single contribution adds nothing
  CHECK(at(1, 1).piece == Piece{1, 2, {0, 1}});
  CHECK(at(1, 1).fresh);
  CHECK(at(1, 1).buffer == Buffer::scratch);
  CHECK(at(2, 1).piece == Piece{1, 1, {1}});
  CHECK(at(2, 1).buffer == Buffer::output);
  CHECK_FALSE(at(3, 1).fresh);  // once there is output, scratch counts no more
  CHECK(at(9, 0).fresh);
}

TEST_CASE("cost lines too wide for the table stand alone") {
  const std::string text = render(
      explain(handmade::ring(2)),
      {.rounds = "2(P-1)", .hops = "(((((((((((2(P-1))))))))))))+P-P+P-P+P-P+P-P", .sent = "1"});
  INFO(text);
  CHECK(widest(text) <= 80);
  CHECK(text.find("hops          (((((((((((2(P-1))))))))))))+P-P+P-P+P-P+P-P = 2\n"
                  "                          2\n") != std::string::npos);
}

TEST_CASE("tables of many ranks are summed up") {
  const std::string text = render(explain(handmade::ring(100)), {});
  CHECK(text.find("reduce-scatter            99        9900   99 messages, 0.99 N") !=
        std::string::npos);
  CHECK(widest(text) <= 80);
}

TEST_CASE("hosts are named below the heading, where there are several") {
  const auto text_on = [](const Topology& topology) {
    return render(explain(handmade::ring(topology.ranks), {.hosts = shown_hosts(topology)}),
                  ring_cost);
  };
  const auto has = [](const std::string& text, const std::string& words) {
    INFO(text);
    CHECK(widest(text) <= 80);
    CHECK(text.find(words) != std::string::npos);
  };
  has(text_on(on_hosts({2, 1}, Numbering::by_host)),
      "3 ranks\nranks 0-1 on host 0, rank 2 on host 1\n");
  Topology dealt = on_hosts({3, 2}, Numbering::in_turn);
  dealt.hosts = {{.name = "a"}, {}};
  has(text_on(dealt), "5 ranks\nranks 0,2,4 on host 0 (a), ranks 1,3 on host 1\n");
  has(text_on(on_hosts(std::vector<int>(16, 2), Numbering::by_host)), "ranks 30-31 on host 15\n");
  has(text_on(on_hosts(std::vector<int>(17, 2), Numbering::by_host)),
      "34 ranks\non 17 hosts with 2 ranks each\n");
  has(text_on(on_hosts(std::vector<int>(17, 1), Numbering::by_host)),
      "on 17 hosts with 1 rank each\n");
  std::vector<int> uneven(17, 2);
  uneven.back() = 5;
  has(text_on(on_hosts(uneven, Numbering::by_host)), "on 17 hosts with 2-5 ranks each\n");
  CHECK(text_on(on_hosts({4}, Numbering::by_host)) == text_on({.ranks = 4}));
}

TEST_CASE("messages to several ranks say where they go") {
  const std::string text = render(
      explain(handmade::listed(Collective::broadcast, 1,
                               {{copy(input(0), output(0)), send(1, output(0)), send(2, output(0))},
                                {receive(0, output(0))},
                                {receive(0, output(0))}})),
      {});
  INFO(text);
  CHECK(text.find("  1  a0>1 a0>2  .          .\n") != std::string::npos);
  CHECK(text.find("Messages and elements sent by then\n     rank 0  rank 1  rank 2\nexchange\n"
                  "  1  2 2N    0 0N    0 0N\n") != std::string::npos);
}

TEST_CASE("wrong schedules are explained as far as they go") {
  const Schedule wrong =
      handmade::changed(handmade::ring(3), [](handmade::Lists& steps) { steps[0].pop_back(); });
  const std::string text = render(explain(wrong), ring_cost);
  INFO(text);
  CHECK(text.find("This schedule is wrong:\n  1 message(s) from rank 2 to rank 0") !=
        std::string::npos);
  CHECK(text.find("rank 0: a* ? c*") != std::string::npos);
}

TEST_CASE("runs of chunks wrap, and tokens list the ranks that they have heard of") {
  const std::string runs = render(
      explain(handmade::listed(Collective::all_reduce, 5,
                               {{send(1, input(3, 4)), send(1, input(2)), receive(1, output(0, 5))},
                                {receive_reduce(0, input(3, 4), output(3, 4)),
                                 receive_reduce(0, input(2), output(2)), send(0, output(0, 5))}})),
      {});
  INFO(runs);
  CHECK(runs.find("  1  d-b0>1 c0>1  a-e*>0\n") != std::string::npos);
  const std::string tokens = render(
      explain(handmade::listed(Collective::barrier, 1,
                               {{send(1, input(0)), receive_reduce(1, input(0), output(0))},
                                {send(0, input(0)), receive_reduce(0, input(0), output(0))}})),
      {});
  INFO(tokens);
  CHECK(tokens.find("  1  t0      t1\n") != std::string::npos);
  CHECK(tokens.find("  rank 1: t*\n") != std::string::npos);
}
