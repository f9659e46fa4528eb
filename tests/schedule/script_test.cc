// Texts that are for many numbers of ranks: what they mean, and what is said of wrong ones.
#include "core/schedule/script.h"

#include "core/schedule/text.h"
#include "core/schedule/verify.h"
#include "core/topology/generate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;

namespace {

const std::string ring = R"(
collective all_reduce
algorithm ring
ranks 1..
parts P
phases reduce-scatter all-gather
rank r
  let next = (r+1) % P
  let before = (r-1) % P
  if P == 1
    phase reduce-scatter round 1
    copy input[0] into output[0]
  end
  for k in 1..P-1
    phase reduce-scatter round k
    if k == 1
      send input[(r-k) % P] to next
    else
      send scratch0[(r-k) % P] to next
    end
    let chunk = (r-k-1) % P
    if k == P-1
      receive_reduce from before then input[chunk] into output[chunk]
    else
      receive_reduce from before then input[chunk] into scratch(k-k)[chunk]
    end
  end
  for k in 0..P-2
    phase all-gather round k+1
    send output[(r-k) % P] to next
    receive from before into output[(r-k-1) % P]
  end
)";

/// The steps of the only section, of rank 0 of so many.
std::vector<Step> steps(const std::string& body, int ranks = 4) {
  const std::string text = "collective all_gather\nranks any\nphases a b\nrank r\n" + body;
  return handmade::lists(parse_script(text).build({.ranks = ranks}, 0)).front();
}

std::string refusal_of(const std::string& text, int ranks) {
  try {
    parse_script(text, "file").build_right({.ranks = ranks}, 0);
  } catch (const Error& error) {
    return error.message();
  }
  return "right";
}

std::string error_of(const std::string& text, int ranks = 4, int root = 0) {
  try {
    const Schedule schedule = parse_script(text, "file").build({.ranks = ranks}, root);
    handmade::lists(schedule);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

const std::string head = "collective all_gather\nranks any\nrank r\n";

}  // namespace

TEST_CASE("one text gives the same steps as a builder, for every number of ranks") {
  const Script script = parse_script(ring);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const Schedule schedule = script.build({.ranks = ranks}, 0);
    REQUIRE(handmade::lists(schedule) == handmade::lists(handmade::ring(ranks)));
    REQUIRE(to_text(schedule) == to_text(handmade::ring(ranks)));
  }
  CHECK(script.only_ranks() == 0);
  CHECK_THROWS_WITH(parse_schedule(ring, "ring"),
                    Catch::Contains("ring is for several numbers of ranks: choose one"));
}

TEST_CASE("loops, conditions and names") {
  CHECK(steps("for i in 1..3\n send input[0] to i\n end").size() == 3);
  CHECK(steps("for i in 3..1\n send input[0] to i\n end").empty());
  CHECK(steps("for i in 1..2\n for j in i..2\n send input[i] to j\n end\n end") ==
        std::vector<Step>{send(1, input(1)), send(2, input(1)), send(2, input(2))});
  CHECK(steps("if P == 4 and not r == 1\n send input[0] to 1\n else\n send input[0] to 2\n end") ==
        std::vector<Step>{send(1, input(0))});
  CHECK(steps("if P < 4 or r > 0\n send input[0] to 1\n else\n send input[0] to 2\n end") ==
        std::vector<Step>{send(2, input(0))});
  CHECK(steps("let x = 1\n for i in 1..2\n let x = 2x\n end\n send input[x-1] to x-2") ==
        std::vector<Step>{send(2, input(3))});
  CHECK(steps("reduce scratch(r)..(P-1)[P-1..r] into output[0]") ==
        std::vector<Step>{reduce(scratch(0, 3, 2), 4, output(0))});
  CHECK(
      steps(
          "phase b round 2\n send input[-1 % P] to q\n round r+5\n copy input[0] into output[0]") ==
      std::vector<Step>{send(2, input(3)).at(1, 1), copy(input(0), output(0)).at(1, 4)});
}

TEST_CASE("what cannot be computed does no harm where it does not count") {
  CHECK(steps("if r > 0 and 6/r == 0\n send input[0] to 0\n end").empty());
  CHECK(steps("if r == 0 or 6/r == 0\n send input[0] to 1\n end").size() == 1);
  CHECK(steps("if r == 0 and P == 4 or 1/r\n send input[0] to 1\n end").size() == 1);
  CHECK(steps("send input[0] to 49*(1/49)") == std::vector<Step>{send(1, input(0))});
  CHECK(steps("let x = 1\t+ 2\n send input[0] to x") == std::vector<Step>{send(3, input(0))});
  CHECK(steps("send input[(0-2^(0-60)) % 4] to 0") == std::vector<Step>{send(0, input(0))});
  CHECK(steps("let x = 100000000000000000 % 3\n send input[0] to x") ==
        std::vector<Step>{send(1, input(0))});
}

TEST_CASE("a round keeps the phase that was before it in the run, not in the text") {
  CHECK(
      steps("phase b round 1\n if r > 5\n phase a round 1\n end\n round 2\n send input[0] to 1") ==
      std::vector<Step>{send(1, input(0)).at(1, 1)});
}

TEST_CASE("sections of one rank follow each other in the order of the text") {
  const Script script = parse_script(
      "collective reduce\nranks any\nroot any\nlanes 2\nparts 2\n"
      "rank r\n if r != root\n send input[0] to root\n end\n"
      "rank root\n for i in 1..P-1\n receive from (root+i) % P into scratch(i)[0]\n end\n"
      "rank r lane l\n if l == 1\n copy input[1] into scratch0[1]\n end\n"
      "rank P-1 lane 1\n copy scratch0[1] into output[1]\n");
  const handmade::Lists lists = handmade::lists(script.build({.ranks = 3}, 1));
  CHECK(lists[0] == std::vector<Step>{send(1, input(0))});
  CHECK(lists[1] == std::vector<Step>{copy(input(1), scratch(0, 1))});
  CHECK(lists[2] == std::vector<Step>{receive(2, scratch(1, 0)), receive(0, scratch(2, 0))});
  CHECK(lists[5] ==
        std::vector<Step>{copy(input(1), scratch(0, 1)), copy(scratch(0, 1), output(1))});
}

TEST_CASE("formulas know where ranks are") {
  const Script script = parse_script(
      "collective broadcast\nranks any\nroot any\nwhen H > 1\nrank r\n"
      "if r == member(host(root), 0)\n send input[0] to member((host(r)+1) % H, size(0)-1)\n end\n"
      "if index(r) == 1\n send input[0] to host(r)\n end");
  const Topology hosts = on_hosts({2, 2}, Numbering::in_turn);  // ranks 0 and 2, 1 and 3
  const handmade::Lists lists = handmade::lists(script.build(hosts, 3));
  CHECK(lists[0].empty());
  CHECK(lists[1] == std::vector<Step>{send(2, input(0))});
  CHECK(lists[2] == std::vector<Step>{send(0, input(0))});
  CHECK(lists[3] == std::vector<Step>{send(1, input(0))});
  CHECK(script.unfit(on_hosts({4}, Numbering::by_host)) ==
        "schedule:4 says that it is not for these 4 ranks on 1 host");
}

TEST_CASE("a text says which calls it is for") {
  const auto with = [](const std::string& lines) {
    return parse_script("collective reduce\nalgorithm a\n" + lines + "\nrank 0\n", "file");
  };
  CHECK(with("ranks 4").unfit({.ranks = 4}).empty());
  CHECK(with("ranks 4").unfit({.ranks = 5}) == "file is for 4 ranks, not 5");
  CHECK(with("ranks 2..4").unfit({.ranks = 5}) == "file is for 2 to 4 ranks, not 5");
  CHECK(with("ranks 3..").unfit({.ranks = 2}) == "file is for 3 or more ranks, not 2");
  CHECK(with("ranks any").unfit({.ranks = 1}) == "file is for 2 or more ranks, not 1");
  CHECK(with("ranks any\nwhen P == 2^q").unfit({.ranks = 8}).empty());
  CHECK(with("ranks any\nwhen P == 2^q").unfit({.ranks = 6}) ==
        "file:4 says that it is not for these 6 ranks");
  CHECK(with("ranks 2\nsizes 4K..1M").for_bytes(4096));
  CHECK_FALSE(with("ranks 2\nsizes 4K..1M").for_bytes(4095));
  CHECK_FALSE(with("ranks 2\nsizes ..1M").for_bytes((1 << 20) + 1));
  CHECK(with("ranks 2\nsizes 1G..").for_bytes(std::size_t{1} << 40));
  CHECK_FALSE(with("ranks 2").for_any_root());
  CHECK(with("ranks 2\nroot any").for_any_root());
  CHECK(error_of("collective reduce\nranks any\nroot 1\nrank r\n", 3, 2) ==
        "file is for root 1, not 2");
}

TEST_CASE("a wrong schedule is refused with what the verifier found, each time") {
  std::string wrong = ring;
  wrong.replace(wrong.find("receive from before into output[(r-k-1) % P]"), 44,
                "receive from before into output[(r-k) % P]");
  const Script script = parse_script(wrong, "mine");
  CHECK(script.build_right({.ranks = 1}, 0).ranks == 1);
  for (int time = 0; time < 2; ++time)
    CHECK_THROWS_WITH(
        script.build_right({.ranks = 4}, 0),
        Catch::Contains(
            "mine is wrong for 4 ranks: rank 1 lane 0 step 8 (all-gather round 2, line 30): "));
}

TEST_CASE("a refusal names the root, and says how much more is wrong") {
  const Script script = parse_script("collective broadcast\nranks 3\nroot any\nrank r\n", "mine");
  CHECK_THROWS_WITH(script.build_right({.ranks = 3}, 1),
                    Catch::Contains("mine is wrong for 3 ranks, root 1: rank 0: output chunk 0 ") &&
                        Catch::Contains(" (and 2 more)"));
}

TEST_CASE("what is read from a text in use shares its script, and so its verdicts") {
  const std::string text = "collective barrier\nranks any\nrank r\n";
  const Script script = parse_script(text, "mine");
  CHECK(parse_script(text, "mine") == script);
  CHECK_FALSE(parse_script(text, "other") == script);
  CHECK_FALSE(parse_script(text + "#\n", "mine") == script);
}

TEST_CASE("a wait cycle, and a step that cannot be, name their lines") {
  const auto verdict = [](const std::string& body) {
    return refusal_of("collective all_reduce\nranks any\nrank r\n" + body, 2);
  };
  CHECK(verdict("let other = 1-r\nreceive from other into output[0]") ==
        "file is wrong for 2 ranks: wait cycle at depth 1: rank 0 lane 0 waits to receive from 1 "
        "in round 1, "
        "step 0, line 5; rank 1 lane 0 waits to receive from 0 in round 1, step 0, line 5");
  CHECK(verdict("for i in 1..1\ncopy output[0] into input[0]\nend") ==
        "file is wrong for 2 ranks: rank 0 lane 0 step 0 (round 1, line 5): "
        "writes the input buffer, which is read only");
}

TEST_CASE("errors name the place, and the values that led there") {
  CHECK(error_of(head + "send input[0] to r+1") ==
        "file:4:18: expected a rank, a number from 0 to 3, found 4 where r = 3");
  CHECK(error_of(head + "for i in 2..P\nsend input[i] to 0\nend") ==
        "file:5:12: expected a chunk, a number from 0 to 3, found 4 where i = 4");
  CHECK(error_of(head + "send input[P/3] to 0").find("found 1.333333 where P = 4") !=
        std::string::npos);
  CHECK(error_of(head + "let x = 1/r") == "file:4:9: division by zero where r = 0");
  CHECK(error_of(head + "send input[member(0, 7)] to 0") ==
        "file:4:12: there is no rank at place 7");
  CHECK(error_of(head + "for i in 1..3\n") ==
        "file:5:1: expected 'end' of the block that begins in line 4, found the end of the line");
  CHECK(error_of(head + "if r\nrank 1") ==
        "file:5:1: expected 'end' of the block that begins in line 4, found 'rank'");
  CHECK(error_of(head + "end") == "file:4:1: expected 'for' or 'if' before, found 'end'");
  CHECK(error_of(head + "else") == "file:4:1: expected 'if' before, found 'else'");
  CHECK(error_of(head + "for r in 1..2") == "file:4:5: expected a new name, found 'r'");
  CHECK(error_of(head + "for min in 1..2") ==
        "file:4:5: expected a new name ('min' is a word of formulas), found 'min'");
  CHECK(error_of(head + "let P = 2") ==
        "file:4:5: expected a new name, or one that 'let' has given, found 'P'");
  CHECK(error_of(head + "for i in 1..2\nend\nsend input[i] to 0") ==
        "file:6:12: unknown name 'i' (known: P, root, H, q, r, ceil, floor, log2, ones, min, max, "
        "host, index, size, member), found 'i]'");
  CHECK(error_of(head + "send input[0] to") ==
        "file:4:17: expected a rank, found the end of the line");
  CHECK(error_of(head + "for i in 1 2") == "file:4:12: expected '..', found '2'");
  CHECK(error_of(head + "let _x = 2") ==
        "file:4:5: expected a new name, or one that 'let' has given, found '_x'");
  CHECK(error_of(head + "if 1\nlet x = 1\nend\nlet = 2")
            .starts_with("file:7:5: expected a new name"));
  CHECK(error_of(head + "let not = 2").find("('not' is a word of formulas)") != std::string::npos);
  CHECK(error_of(head + "if log2(0-1)\nend") == "file:4:4: log2 has no value here");
  CHECK(error_of(head + "let x = 5 % (r-3)").find("% needs a positive number behind it, not -3") !=
        std::string::npos);
  CHECK(error_of("collective reduce\nranks any\nranks 2") ==
        "file:3:1: 'ranks' stands twice, found 'ranks'");
  CHECK(error_of("collective reduce\nsizes 1M..4K") ==
        "file:2:11: expected at least as many bytes as before, found '4K'");
  CHECK(error_of("collective reduce\nranks 4..2") ==
        "file:2:10: expected the largest number of ranks, a number from 4 to 1048576, found '2'");
  CHECK(error_of("collective reduce\nranks any\nparts P-4\nrank r") ==
        "file:3:7: expected the parts of a block, a number from 1 to 1048576, found 0 where P = 4");
}

TEST_CASE("hostile texts end soon") {
  CHECK(error_of(head + "for i in 1..2^29\nfor j in 1..2^29\nend\nend")
            .find("file:5:1: rank 0 does more than 1048576 statements") != std::string::npos);
  std::string deep = head + "let x = ";
  CHECK(error_of(deep + std::string(100'000, '(')).find("expected fewer formulas") !=
        std::string::npos);
  CHECK(error_of(deep + std::string(100'000, '-')).find("expected fewer formulas") !=
        std::string::npos);
  for (int i = 0; i < 1000; ++i) deep += "1^(2+";
  CHECK(error_of(deep).find("expected") != std::string::npos);
  std::string blocks = head;
  for (int i = 0; i < 1000; ++i) blocks += "if 1\n";
  CHECK(error_of(blocks).find("expected fewer blocks inside each other") != std::string::npos);
  CHECK(error_of(std::string((4 << 20) + 1, '#')).find("file has 4194305 bytes") !=
        std::string::npos);
  std::string names = head;
  for (int i = 0; i < 1000; ++i) names += "let x" + std::to_string(i) + " = 1\n";
  CHECK(error_of(names).find("expected at most 1000 names in a section") != std::string::npos);
  std::string sections = head;
  for (int i = 0; i < 1001; ++i) sections += "rank r\n";
  CHECK(error_of(sections).find("expected at most 1000 sections") != std::string::npos);
  const Schedule many = parse_script(head).build({.ranks = 1 << 20}, 0);
  CHECK(many.steps((1 << 20) - 1, 0).next() == nullptr);
}

TEST_CASE("what would take too long to prove is refused at once") {
  const auto refusal = [](int ranks, const std::string& header, const std::string& steps) {
    return refusal_of("collective all_gather\nranks any\n" + header + "\nrank r\n" + steps, ranks);
  };
  const auto loop = [](int times, const std::string& step) {
    return "for i in 1.." + std::to_string(times) + "\n" + step + "\nend\n";
  };
  const std::string too_long = " ranks, which would take too long to prove";
  CHECK(refusal(4, "parts 1000000", "") ==
        "file has more than 2097152 chunks in the buffers of all ranks together, line 3, with 4" +
            too_long);
  CHECK(refusal(4, "", loop(16385, "send input[r] to (r+1) % P")) ==
        "file has more than 16384 steps on rank 0, line 6, with 4" + too_long);
  CHECK(
      refusal(4, "parts 1000", loop(600, "send input[r*1000..r*1000+999] to (r+1) % P")) ==
      "file has more than 1048576 chunks as operands of all ranks' steps together, line 6, with 4" +
          too_long);
  CHECK(refusal(64, "lanes 65535", "") ==
        "file has more than 65536 lanes on all ranks together, line 3, with 64" + too_long);
  CHECK(refusal(64, "lanes 1000", loop(1'000'000, "let x = i")) ==
        "file has more than 16777216 statements to run on all ranks together with 64" + too_long);
  CHECK(refusal(1 << 20, "", "let h = host(r)") ==
        "file:5: asks for the hosts of 1048576 ranks, which takes too long");
  // Just below: it is looked at, and found to be wrong.
  CHECK(refusal(2, "", loop(16384, "send input[r] to (r+1) % P")).find("wait cycle") !=
        std::string::npos);
}
