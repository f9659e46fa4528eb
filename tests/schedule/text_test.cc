// The text form: written schedules read back the same; errors name their place.
#include "core/schedule/text.h"

#include "core/schedule/verify.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;
using handmade::listed;

namespace {

void check_round_trip(const Schedule& schedule) {
  const std::string text = to_text(schedule);
  INFO(text);
  const Schedule again = parse_schedule(text);
  CHECK(again.collective == schedule.collective);
  CHECK(again.algorithm == schedule.algorithm);
  CHECK(again.ranks == schedule.ranks);
  CHECK(again.root == schedule.root);
  CHECK(again.lanes == schedule.lanes);
  CHECK(again.depth == schedule.depth);
  CHECK(again.layout == schedule.layout);
  CHECK(again.phases == schedule.phases);
  CHECK(handmade::lists(again) == handmade::lists(schedule));
  CHECK(to_text(again) == text);
}

std::string error_of(const std::string& text) {
  try {
    parse_schedule(text, "file");
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

const std::string head = "collective all_reduce\nranks 2\nparts 2\nphases one two\nrank 0\n";

}  // namespace

TEST_CASE("a ring reads as people would write it") {
  CHECK(to_text(handmade::ring(2)) == R"(collective all_reduce
algorithm ring
ranks 2
parts 2
phases reduce-scatter all-gather

rank 0
  phase reduce-scatter round 1
    send input[1] to 1
    receive_reduce from 1 then input[0] into output[0]
  phase all-gather round 1
    send output[0] to 1
    receive from 1 into output[1]

rank 1
  phase reduce-scatter round 1
    send input[0] to 0
    receive_reduce from 0 then input[1] into output[1]
  phase all-gather round 1
    send output[1] to 0
    receive from 0 into output[0]
)");
}

TEST_CASE("schedules survive the round trip through text") {
  for (int ranks = 1; ranks <= 9; ++ranks) check_round_trip(handmade::ring(ranks));
  Schedule everything = listed(Collective::reduce, 5, {{}, {}, {}}, 3);
  everything.root = 2;
  everything.lanes = 2;
  everything.algorithm = "two words";
  everything.phases = {"plain", "with spaces # and hash", "last"};
  check_round_trip(handmade::with(
      everything,
      {{send(1, input(3, 4)).at(2, 7), copy(input(0, 5), scratch(7, 2, 5)).at(1, 7)},
       {reduce(scratch(3, 1), 4, output(1)).at(1, 8), reduce(scratch(0, 1), 1, output(1)).at(0, 8)},
       {},
       {receive(0, output(4)).at(0, 0)},
       {receive_reduce(1, input(2, 3), output(2, 3), Order::local_first).at(0, 99)},
       {receive_reduce(1, scratch(65535, 2), output(2)).at(0, 99)}}));
}

TEST_CASE("people may leave out what is usual and add remarks") {
  const Schedule schedule = parse_schedule(R"(
# Rank 1 tells rank 0.
  collective   reduce   # to rank 0
  ranks 2
rank 1
  send input[0] to 0
rank 0 lane 0
  receive_reduce input[0] then from 1 into output[0]
)");
  CHECK(schedule.depth == 1);
  CHECK(schedule.phases.empty());
  CHECK(verify(schedule).ok());
}

TEST_CASE("errors name line, column and what was expected") {
  CHECK(error_of("collective all_reduced\n") ==
        "file:1:12: expected a collective (all_reduce, reduce_scatter, all_gather, broadcast, "
        "reduce, scan, exclusive_scan, all_to_all, scatter, gather, barrier, send_recv), found "
        "'all_reduced'");
  CHECK(error_of("") ==
        "file:1:1: expected 'collective' in the lines before, found the end of the "
        "line");
  CHECK(error_of("collective reduce\nrank 0\n") ==
        "file:2:1: expected 'ranks' in the lines before, found 'rank'");
  CHECK(error_of("collective reduce\nranks 0\n") ==
        "file:2:7: expected the number of ranks, a number from 1 to 1048576, found '0'");
  CHECK(error_of("ranks 2 3") == "file:1:9: expected the end of the line, found '3'");
  CHECK(error_of("sned input[0] to 1") ==
        "file:1:1: expected collective, algorithm, ranks, root, when, sizes, lanes, depth, parts, "
        "phases or rank, found 'sned'");
  CHECK(error_of("send input[0] to 1").find("expected 'rank' before the first step") !=
        std::string::npos);
  CHECK(error_of(head + "  sned input[0] to 1") ==
        "file:6:3: expected send, receive, receive_reduce, reduce, copy, phase, round, for, if, "
        "else, end, let or rank, found 'sned'");
  CHECK(error_of(head + "  send input[2] to 1") ==
        "file:6:14: expected a chunk, a number from 0 to 1, found 2");
  CHECK(error_of(head + "  send input[1] to 2") ==
        "file:6:20: expected a rank, a number from 0 to 1, found 2");
  CHECK(error_of(head + "  send inputs[1] to 1") ==
        "file:6:8: expected input, output or scratch, found 'inputs[1]'");
  CHECK(error_of(head + "  send scratchr[1] to 1") ==
        "file:6:8: expected a slot in parentheses, as in scratch(r), found 'scratchr[1]'");
  CHECK(error_of(head + "  parts 2") ==
        "file:6:3: expected 'parts' before the first 'rank', found 'parts'");
  CHECK(error_of(head + "  send scratch[1] to 1") ==
        "file:6:15: expected a scratch slot, a number from 0 to 65535, found '[1]'");
  CHECK(error_of(head + "  copy input[0] output[0]") ==
        "file:6:17: expected 'into', found 'output[0]'");
  CHECK(error_of(head + "  receive_reduce from 1 input[0]") ==
        "file:6:25: expected 'then', found 'input[0]'");
  CHECK(error_of(head + "  phase three round 1") ==
        "file:6:9: expected a phase that the 'phases' line names, found 'three'");
  CHECK(error_of(head + "  phase one 1") == "file:6:13: expected 'round', found '1'");
  CHECK(error_of(head + "rank 0") ==
        "file:6:6: this rank and lane have a section already, found '0'");
  CHECK(error_of(head + "\x1b[2J" + std::string(3'000'000, '(')) ==
        "file:6:1: expected a word such as 'collective', 'rank' or 'send', found '?[2J" +
            std::string(36, '(') + "...'");
  CHECK(error_of("collective reduce\nranks 2\nroot 2\nrank 0\n") ==
        "file:3:6: expected the root, a number from 0 to 1, found 2");
  CHECK(error_of("collective all_gather\nranks 1048576\nparts 1025\nrank 0") ==
        "file:3:7: expected at most 1073741824 chunks (blocks times parts)");
  CHECK(error_of("algorithm a\"b") == "file:1:12: expected the end of the line, found '\"b'");
  CHECK(error_of("phases \"open") == "file:1:13: expected '\"', found the end of the line");
}

TEST_CASE("a text takes no more memory than it is long, however many ranks it names") {
  const Schedule schedule = parse_schedule(
      "collective all_gather\nranks 1048576\nlanes 65535\nparts 1024\nrank 1048575 lane 65534\n"
      "send input[1073741823] to 0");
  CHECK(schedule.layout.chunks() == 1 << 30);
  CHECK(schedule.steps(0, 0).next() == nullptr);
  CHECK(schedule.steps(1048575, 65534).next()->from == input(1073741823));
}

TEST_CASE("as many phases are read as a step can name") {
  std::string text = "collective reduce\nranks 1\nphases";
  for (int phase = 0; phase < 65536; ++phase) text += " " + std::to_string(phase);
  const Schedule most =
      parse_schedule(text + "\nrank 0\nphase 65535 round 1\ncopy input[0] into output[0]");
  CHECK(most.steps(0, 0).next()->phase == 65535);
  CHECK(error_of(text + " more").find("expected at most 65536 phases") != std::string::npos);
}
