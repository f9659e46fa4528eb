// The interactive view without a terminal: keys to states, states to text.
#include <algorithm>

#include "algorithms/table.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/rondo/explain_options.h"
#include "tools/rondo/step/state.h"
#include "tools/rondo/step/view.h"

using namespace rondo;
using namespace rondo::tool;
using namespace rondo::tool::step;
using Kind = Key::Kind;

namespace {

Explanation explained(Collective collective, const char* algorithm, int ranks,
                      bool values = false) {
  const Schedule schedule = find_algorithm(collective, algorithm)->build(ranks, 0);
  tool::ExplainArguments arguments;
  arguments.has_values = values;
  return explain(schedule, tool::options_of(arguments, schedule));
}

Explanation ring(int ranks) { return explained(Collective::all_reduce, "ring", ranks); }

/// The state after these keys; letters stand for themselves.
State typed(const Explanation& explanation, State state, const std::string& keys) {
  for (const char key : keys) state = press(explanation, state, {Kind::character, key});
  return state;
}

State pressed(const Explanation& explanation, State state, std::vector<Kind> keys) {
  for (const Kind key : keys) state = press(explanation, state, {key});
  return state;
}

std::string text(const Explanation& explanation, const State& state, Size size = {}) {
  std::string all;
  for (const Line& line : view(explanation, state, size)) all += line.text + "\n";
  return all;
}

bool shows(const Explanation& explanation, const State& state, const std::string& words,
           Size size = {}) {
  const std::string all = text(explanation, state, size);
  INFO(all);
  const bool found = all.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("the whole screen, as a person sees it") {
  const Explanation explanation = ring(4);
  const State state = pressed(explanation, begin(explanation), {Kind::right, Kind::right});
  CHECK(text(explanation, state, {.columns = 80, .lines = 16}) == R"(all_reduce by ring, 4 ranks
round 2 of 6: reduce-scatter, its round 2

What each rank holds (01: of ranks 0 and 1, *: all, *-2: all but 2, [..]: new)
chunk  rank 0   rank 1   rank 2   rank 3
 a     0        1        12       [123]
 b     [023]    1        2        23
 c     03       [013]    2        3
 d     0        01       [012]    3

Messages of this round
  0->1 c03; 1->2 d01; 2->3 a12; 3->0 b23
Sent by then: every rank 2 messages, 0.5 N


q quit  ? keys  left right  g go to  space play + -  Tab rank  down chunk
)");
}

TEST_CASE("a followed chunk and rank: their messages and the way so far") {
  const Explanation explanation = ring(4);
  State state = typed(explanation, begin(explanation), "nnnn");
  state = pressed(explanation, state, {Kind::up});  // the last chunk
  state = pressed(explanation, state, {Kind::tab});
  CHECK(text(explanation, state, {.columns = 80, .lines = 16}) == R"(all_reduce by ring, 4 ranks
round 4 of 6: all-gather, its round 1

What each rank holds (01: of ranks 0 and 1, *: all, *-2: all but 2, [..]: new)
chunk  >rank 0  rank 1   rank 2   rank 3
 a     *        [*]      12       123
 b     023      *        [*]      23
 c     03       013      *        [*]
>d     [*]      01       012      *

Messages of this round from and to rank 0 with chunk d
  3->0 d*
Chunk d so far, by round
  1: 0->1(0); 2: 1->2(01); 3: 2->3(012); 4: 3->0(*)
Sent by then: rank 0 4 messages, 1 N
q quit  ? keys  left right  g go to  space play + -  Tab rank  down chunk
)");
  state = pressed(explanation, state, {Kind::tab});
  shows(explanation, state, "from and to rank 1 with chunk d\n  none\n");
  state = pressed(explanation, state, {Kind::escape});
  CHECK_FALSE(state.rank);
  CHECK_FALSE(state.chunk);
  shows(explanation, state, "  0->1 a*; 1->2 b*; 2->3 c*; 3->0 d*\n");
}

TEST_CASE("forward, back, to the ends, never beyond") {
  const Explanation explanation = ring(3);  // 4 rounds
  State state = begin(explanation);
  const auto after = [&](std::vector<Kind> keys) {
    return state = pressed(explanation, state, std::move(keys)), state.round;
  };
  CHECK(after({Kind::left}) == 0);
  CHECK(after({Kind::right, Kind::enter}) == 2);
  CHECK(after({Kind::backspace}) == 1);
  CHECK(after({Kind::end}) == 4);
  CHECK(after({Kind::right}) == 4);
  CHECK(after({Kind::left}) == 3);
  CHECK(after({Kind::home}) == 0);
  CHECK(typed(explanation, state, "nnb").round == 1);
}

TEST_CASE("the beginning and the end say so") {
  const Explanation explanation = ring(3);
  shows(explanation, begin(explanation), "round 0 of 4: the beginning\n");
  shows(explanation, begin(explanation), "Nothing has moved yet.\n");
  const State end = pressed(explanation, begin(explanation), {Kind::end});
  shows(explanation, end, "round 4 of 4: all-gather, its round 2\n");
  shows(explanation, end, " c     *        [*]      *\n");
}

TEST_CASE("hosts are named below the title") {
  Explanation explanation = ring(4);
  explanation.hosts = {{"host 0", {0, 1, 2}}, {"host 1", {3}}};
  CHECK(text(explanation, begin(explanation))
            .starts_with("all_reduce by ring, 4 ranks\n"
                         "ranks 0-2 on host 0, rank 3 on host 1\nround 0 of 6"));
}

TEST_CASE("going to a round, a rank or a chunk by name") {
  const Explanation explanation = ring(4);
  const auto answered = [&](const std::string& keys) {
    return pressed(explanation, typed(explanation, begin(explanation), keys), {Kind::enter});
  };
  CHECK(answered("g5").round == 5);
  CHECK(answered("r2").rank == 2);
  CHECK(answered("cd").chunk == 3);
  CHECK(answered("g").round == 0);  // nothing typed: nothing happens
  CHECK(answered("g").notice.empty());
  shows(explanation, typed(explanation, begin(explanation), "g5"), "go to round (0 to 6): 5_\n");
  shows(explanation, typed(explanation, begin(explanation), "r"), "follow rank (0 to 3): _\n");
  shows(explanation, typed(explanation, begin(explanation), "c"), "follow chunk (a to d): _\n");
  shows(explanation, answered("g7"), "\nno round 7: 0 to 6\n");
  shows(explanation, answered("g1x"), "\nno round 1x: 0 to 6\n");
  shows(explanation, answered("r4"), "\nno rank 4: 0 to 3\n");
  shows(explanation, answered("r-1"), "\nno rank -1: 0 to 3\n");
  shows(explanation, answered("ce"), "\nno chunk e: a to d\n");
  const State corrected = pressed(explanation, typed(explanation, begin(explanation), "g9"),
                                  {Kind::backspace, Kind::backspace});
  CHECK(corrected.typed.empty());
  CHECK(corrected.prompt == Prompt::round);
  CHECK(pressed(explanation, corrected, {Kind::escape}).prompt == Prompt::none);
  CHECK(typed(explanation, begin(explanation), "g123456789").typed == "12345678");
  CHECK(typed(explanation, begin(explanation), "gq").quit == false);  // typed, not pressed
}

TEST_CASE("playing goes round by round to the end, at a speed") {
  const Explanation explanation = ring(3);
  State state = typed(explanation, begin(explanation), " ");
  CHECK(state.playing);
  CHECK(period(state).count() == 1000);
  shows(explanation, state, "round 0 of 4: the beginning  (playing, 1 rounds/s)\n");
  CHECK(period(typed(explanation, state, "++")).count() == 250);
  CHECK(period(typed(explanation, state, "-")).count() == 2000);
  CHECK(period(typed(explanation, state, "++++++++++")).count() == 63);
  CHECK(period(typed(explanation, state, "----------")).count() == 4000);
  for (std::size_t round = 1; round <= 4; ++round) {
    state = tick(explanation, state);
    CHECK(state.round == round);
    CHECK(state.playing == (round < 4));
  }
  CHECK(tick(explanation, state).round == 4);  // paused
  state = typed(explanation, state, " ");      // again from the beginning
  CHECK(state.playing);
  CHECK(state.round == 0);
  CHECK_FALSE(typed(explanation, state, " ").playing);
  CHECK_FALSE(typed(explanation, state, "g").playing);  // typing needs quiet
}

TEST_CASE("help, unknown keys, quitting") {
  const Explanation explanation = ring(3);
  const State help = typed(explanation, begin(explanation), "?");
  shows(explanation, help, "space             play, pause; + and - change the speed\n");
  shows(explanation, help, "\nany key: back\n");
  CHECK_FALSE(typed(explanation, help, "q").quit);  // closes the help only
  CHECK(typed(explanation, help, "qq").quit);
  const State unknown = typed(explanation, begin(explanation), "z");
  shows(explanation, unknown, "\n? shows the keys\n");
  CHECK(typed(explanation, unknown, "n").notice.empty());
}

TEST_CASE("numbers where there are some") {
  const Explanation plain = ring(3);
  shows(plain, typed(plain, begin(plain), "v"), "\nno numbers here: start with --values\n");
  const Explanation explanation = explained(Collective::all_reduce, "ring", 3, true);
  State state = pressed(explanation, begin(explanation), {Kind::end});
  shows(explanation, state, " b     [33]     33       33\n");
  state = typed(explanation, state, "v");
  shows(explanation, state, " b     [*]      *        *\n");
  shows(explanation, state, "Sent by then: every rank 4 messages, 16 B\n");
}

TEST_CASE("other collectives: tokens, several lanes, chunks that move to other places") {
  const Explanation barrier = explained(Collective::barrier, "dissemination", 4);
  shows(barrier, typed(barrier, begin(barrier), "n"), "token  rank 0   rank 1");
  const Explanation all_to_all = explained(Collective::all_to_all, "linear", 3);
  shows(all_to_all, typed(all_to_all, begin(all_to_all), "n"), " b     [a1]     [1]      [c1]\n");
  const Explanation tree = explained(Collective::reduce, "binomial_tree", 4);
  shows(tree, typed(tree, begin(tree), "n"), "Sent by then: at most (rank 1) 1 message, 1 N\n");
  const Explanation alone = ring(1);
  shows(alone, begin(alone), "all_reduce by ring, 1 ranks\n");
}

TEST_CASE("every algorithm on screens of every size: no line too long, none missing") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {2, 7, 33}) {
      const Explanation explanation = explain(row.build(ranks, 0));
      const auto last = static_cast<int>(explanation.rounds.size());
      for (const Size size :
           {Size{32, 10}, Size{80, 24}, Size{200, 60}, Size{31, 24}, Size{80, 9}, Size{1, 1}}) {
        for (const int round : {0, last / 2, last}) {
          State state{.round = static_cast<std::size_t>(round), .rank = ranks - 1};
          state.chunk = explanation.header.layout.chunks() - 1;
          const auto lines = view(explanation, state, size);
          const bool fits = size.columns >= least_size.columns && size.lines >= least_size.lines;
          CHECK(lines.size() == (fits ? size.lines : 1));
          for (const Line& line : lines)
            if (line.text.size() > size.columns) FAIL_CHECK(line.text);
          if (!fits) continue;
          const std::string all = text(explanation, state, size);
          INFO(all);
          CHECK(all.find(">rank " + std::to_string(ranks - 1)) != std::string::npos);
          CHECK(all.find("\n>") != std::string::npos);  // the followed chunk's row
        }
      }
    }
  }
}

TEST_CASE("all of eight ranks fit 80 columns") {
  const Explanation explanation = ring(8);
  State state = pressed(explanation, begin(explanation), {Kind::right});
  shows(explanation, state, "rank 5   rank 6   rank 7\n");
  CHECK(text(explanation, state).find("(Tab)") == std::string::npos);
}

TEST_CASE("what does not fit is said, and following scrolls") {
  const Explanation explanation = ring(32);
  State state = begin(explanation);
  shows(explanation, state, "of 32 ranks (Tab), 32 chunks (down, up)\n");
  state = pressed(explanation, typed(explanation, state, "c29"), {Kind::enter});
  state = pressed(explanation, typed(explanation, state, "g62"), {Kind::enter});
  shows(explanation, state, ">29    ");
  shows(explanation, state, " .. ");  // the way so far: the last rounds of it
  shows(explanation, state, "62: 27->28(*)\n");
}

TEST_CASE("a wrong schedule is called so") {
  Explanation explanation = ring(2);
  explanation.findings = {"rank 1 waits for ever"};
  shows(explanation, begin(explanation), "\nWRONG: rank 1 waits for ever\n");
}
