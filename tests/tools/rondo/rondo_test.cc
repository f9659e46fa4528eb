// The rondo program as a user runs it: output, errors, exit status.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/catch.h"
#include "tests/support/program.h"

namespace {

using rondo::test::Run;

/// Runs rondo with these arguments; `input` is its standard input.
Run run_rondo(const std::string& arguments, const std::string& input = {}) {
  const std::string path = RONDO_TEST_FOLDER "/rondo_test_input";
  std::ofstream(path) << input;
  const std::string command = "'" RONDO_PROGRAM "' " + arguments + " < '" + path + "'";
  Run run = rondo::test::run_command(command);
  std::remove(path.c_str());
  return run;
}

const std::string pair = R"(collective all_reduce
ranks 2
rank 0
  send input[0] to 1
  receive_reduce input[0] then from 1 into output[0]
rank 1
  send input[0] to 0
  receive_reduce from 0 then input[0] into output[0]
)";

}  // namespace

TEST_CASE("verify --all proves every algorithm") {
  const Run run = run_rondo("verify --all --ranks 1-9,65");
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.says("all_reduce     ring               1-9,65       -         exact to 9   2(P-1); "));
  CHECK(run.says("broadcast      binomial_tree      1-9,65       all to 64 exact to 9"));
  CHECK(run.says(": all right\n"));
  CHECK_FALSE(run.says("WRONG"));
}

TEST_CASE("verify takes one collective, one algorithm, one root") {
  const Run run = run_rondo("verify reduce --algorithm chain --ranks 5,3 --root 2");
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.says("reduce         chain              3,5          2         exact"));
  CHECK(run.says("1 algorithms, 2 schedules"));
}

const std::string line = R"(collective broadcast
algorithm line
ranks any
root any
when P < 10
rank r
  let place = (r-root) % P
  if place == 0
    copy input[0] into output[0]
  else
    receive from (r-1) % P into output[0]
  end
  if place < P-1
    send output[0] to (r+1) % P
  end
)";

TEST_CASE("a text with loops is verified for all that it is for") {
  CHECK(run_rondo("verify --file -", line).output ==
        "broadcast of 2-9 ranks (44 schedules, 524 steps, contributors exact): ok\n");
  CHECK(run_rondo("verify --file - --ranks 4,12 --root 2", line).output ==
        "broadcast of 4 ranks (7 steps, contributors exact): ok\n");
  CHECK(run_rondo("verify --file - --hosts 2 --ranks-per-host 2", line)
            .says("broadcast of 3-4 ranks ("));
  CHECK(run_rondo("verify --file - --hosts 1000x1000", line)
            .says("--hosts 1000x1000 has 1000000 ranks, too many to prove. Try: at most 1024"));
  CHECK(
      run_rondo("verify --file - --hosts 1+2x3", line).says("broadcast of 7 ranks (28 schedules"));
  const Run none = run_rondo("verify --file - --ranks 12", line);
  INFO(none.output);
  CHECK(none.status == 2);
  CHECK(none.says("standard input:5 says that it is not for these 12 ranks"));
  std::string wrong = line;
  wrong.replace(wrong.find("(r+1) % P"), 9, "r+2");
  const Run run = run_rondo("verify --file - --ranks 3,5", wrong);
  INFO(run.output);
  CHECK(run.status == 1);
  CHECK(
      run.says("3 ranks, root 1: standard input:14:23: expected a rank, a number from 0 to 2, "
               "found 3 where r = 1"));
  CHECK(run.says("broadcast of 3,5 ranks ("));
}

TEST_CASE("explain, schedule, simulate and why take a text, too") {
  const std::string path = RONDO_TEST_FOLDER "/line.schedule";
  std::ofstream(path) << line;
  const std::string file = " --file '" + path + "'";
  CHECK(run_rondo("schedule --ranks 2 --root 1" + file).output ==
        "collective broadcast\nalgorithm line\nranks 2\nroot 1\n\n"
        "rank 0\n  round 1\n    receive from 1 into output[0]\n\n"
        "rank 1\n  round 1\n    copy input[0] into output[0]\n    send output[0] to 0\n");
  CHECK(run_rondo("explain --ranks 3" + file).says("broadcast by line, 3 ranks, root 0"));
  CHECK(run_rondo("explain" + file).says("broadcast by line, 4 ranks, root 0"));
  CHECK(run_rondo("explain --ranks 12" + file).says("it is not for these 12 ranks"));
  CHECK(run_rondo("simulate broadcast --ranks 4" + file).says("\n  line "));
  CHECK(run_rondo("simulate --ranks 4" + file).says("broadcast, 4 ranks"));
  CHECK(run_rondo("simulate all_reduce --ranks 4" + file)
            .says("is of another collective, broadcast"));
  const Run why = run_rondo("why broadcast 1M --ranks 4" + file);
  INFO(why.output);
  CHECK(why.says("line over shm"));
  CHECK(why.says_folded("(written in " + path + ")"));
  CHECK(why.says("by messages: it does not merge into one or two stages"));
  CHECK(why.says("\n* line "));
  CHECK(run_rondo("why broadcast 1M --ranks 4 --device" + file).says("the program of a schedule"));
  CHECK_FALSE(why.says("not used"));
  const Run other = run_rondo("why all_reduce 1M --ranks 4" + file);
  CHECK(other.says_folded("not used " + path + " is for calls of"));
  const Run more = run_rondo("why broadcast 1M --ranks 12" + file);
  CHECK(more.says_folded("not used " + path));
  CHECK(more.says("not for these 12 ranks"));
  CHECK_FALSE(more.says("* line "));
  std::remove(path.c_str());
}

TEST_CASE("verify reads a schedule that a person wrote") {
  CHECK(run_rondo("verify --file -", pair).status == 0);
  CHECK(run_rondo("verify --file -", pair).output ==
        "all_reduce of 2 ranks (4 steps, contributors exact): ok\n");
  std::string wrong = pair;
  wrong.replace(wrong.find("receive_reduce from 0 then input[0]"), 35, "receive from 0");
  const Run run = run_rondo("verify --file -", wrong);
  INFO(run.output);
  CHECK(run.status == 1);
  CHECK(
      run.says("rank 1: output chunk 0 ends with {0} of chunk 0, expected every rank once of "
               "chunk 0; missing: rank 1\n"));
  CHECK(run.says(": WRONG\n"));
  CHECK(run_rondo("verify --file -", "collective gossip\n")
            .says("standard input:1:12: expected a "
                  "collective"));
}

TEST_CASE("what takes too long to prove is not explained") {
  const std::string wide =
      "collective all_reduce\nranks 2\nlanes 65535\nrank r lane l\nsend input[0] to 1-r\n";
  for (const char* command : {"verify --file -", "explain --file -", "explain --file - --html -"}) {
    const Run run = run_rondo(command, wide);
    INFO(run.output);
    CHECK(run.status != 0);
    CHECK(run.says("has more than 65536 lanes on all ranks together, line 3, with 2 ranks"));
  }
}

TEST_CASE("explain takes algorithms and texts") {
  const Run run = run_rondo("explain all_reduce --algorithm ring --ranks 4");
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.says("  3  b023    c013    d012    a123\n     (each rank sends to rank + 1)\n"));
  CHECK(run.says("rounds        2(P-1) = 6          6        q = 2\n"));
  CHECK(run_rondo("explain --file -", pair).says("  rank 1: a*\n"));
}

TEST_CASE("explain with sizes and values") {
  const Run sized = run_rondo("explain all_gather -a ring -n 3 --count 5 --type float64");
  INFO(sized.output);
  CHECK(sized.status == 0);
  CHECK(sized.says(R"(3 blocks of 5 elements of float64 (120 B) in 3 chunks a to c
elements: a 0-4, b 5-9, c 10-14
)"));
  CHECK(sized.says("sent          (P-1)/P N = 80 B  80 B     (P-1)/P N = 80 B\n"));
  const Run values = run_rondo("explain broadcast -a chain -n 3 --root 1 --values 1,2,-3.5");
  INFO(values.output);
  CHECK(values.status == 0);
  CHECK(values.says(R"(broadcast, after round 1
          a
  rank 0  .
  rank 1  [1 2 -3.5]
  rank 2  [1 2 -3.5]
)"));
  CHECK(run_rondo("explain all_reduce -a ring -n 2 --values").says(R"(at the start
          a     b
  rank 0  0     1
  rank 1  10    11
)"));
  const Run many = run_rondo("explain all_reduce -a ring -n 100 --count 1000");
  CHECK(many.says("chunks of 10 elements\n"));
  CHECK(many.says("reduce-scatter            99        9900   99 messages, 3960 B\n"));
}

TEST_CASE("schedule prints what verify and explain read") {
  const Run text = run_rondo("schedule broadcast --algorithm chain --ranks 3 --root 1");
  CHECK(text.status == 0);
  CHECK(text.says("collective broadcast\nalgorithm chain\nranks 3\nroot 1\n"));
  CHECK(run_rondo("verify --file -", text.output).status == 0);
}

TEST_CASE("simulate compares algorithms") {
  const Run run =
      run_rondo("simulate all_reduce -n 4 -b 4000 --alpha 1e-6 --beta 1e-9 --gamma 0 -a ring");
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK(run.says("ring             12.000     1.00x         6"));
  CHECK(run_rondo("simulate all_to_all -n 4,8").says("all_to_all, 8 ranks"));
  // Too long to simulate: 2(P-1) messages, by the cost line.
  CHECK(
      run_rondo("simulate all_reduce -n 10001 -b 0 --alpha 1e-6 -a ring").says("about 20000.000"));
}

TEST_CASE("simulate says on a terminal, and there alone, what it is busy with") {
  const std::string words = "simulating ring with 8 ranks ...";
  CHECK_FALSE(run_rondo("simulate all_reduce -n 8").says(words));
  const auto [status, output] = rondo::test::run_command(
      "script -qec \"'" RONDO_PROGRAM "' simulate all_reduce -n 8\" /dev/null < /dev/null");
  CHECK(status == 0);
  INFO(output);
  const std::size_t said = output.find(words);
  REQUIRE(said != std::string::npos);
  CHECK(output.find("\r\033[Kall_reduce, 8 ranks", said) != std::string::npos);
}

TEST_CASE("list names what there is") {
  CHECK(run_rondo("list >/dev/full").status == 2);
  const Run run = run_rondo("list");
  CHECK(run.status == 0);
  for (const char* each : {"ring", "double_tree", "shm", "tcp", "bfloat16", "avg", "RONDO_TIMEOUT",
                           "hierarchical(INSIDE,ACROSS)"})
    CHECK(run.says(each));
}

TEST_CASE("rdma answers on any machine") {
  const Run run = run_rondo("rdma");
  INFO(run.output);
  CHECK(run.status == 0);
  CHECK((run.says("No InfiniBand or RoCE here: ") || run.says("DEVICE")));
  const Run json = run_rondo("rdma --json");
  CHECK(json.status == 0);
  CHECK(json.says("\"ports\": ["));
  CHECK(run_rondo("rdma --gids").status == 2);
}

TEST_CASE("mistakes are explained and end with status 2") {
  const auto check = [](const std::string& arguments, const std::string& words) {
    const Run run = run_rondo(arguments);
    INFO(arguments << "\n" << run.output);
    CHECK(run.status == 2);
    CHECK(run.says(words));
  };
  check("explain all_reduced", "unknown collective 'all_reduced'. Try: one of all_reduce, ");
  check("explain all_reduce -a chian", "no algorithm 'chian' for all_reduce. Try: one of ring, ");
  check("explain all_reduce -n 0", "--ranks is 0");
  check("explain broadcast -n 4 -r 4", "root 4 is not one of 4 ranks. Try: a root from 0 to 3");
  check("explain", "there is nothing to explain, or too much");
  check("explain all_reduce --count 0", "--count is 0. Try: a number of elements from 1 to ");
  check("explain all_reduce --type int8", "--type needs --count or --values");
  check("explain all_reduce --count 4 --type int9", "unknown type 'int9'. Try: one of int8, ");
  check("explain barrier --count 4", "a barrier has no elements");
  check("explain all_reduce --values 1,2",
        "--values has lists for 1 ranks, but 4 of 4 have an input");
  check("explain all_reduce -n 2 --values '1,2;3'",
        "--values has 1 numbers for rank 1, whose input has 2");
  check("explain all_gather -n 2 -c 2 --values '1,2;3'", "1 numbers for rank 1, whose input has 2");
  check("explain all_reduce -n 2 --values '1,2;3,x'", "'x' in --values is not a number");
  check("explain all_reduce -n 2 --values '1,2;3,inf'", "'inf' in --values is not a number");
  check("explain all_reduce -c 2000000 --values", "would show 2000000 numbers a rank");
  check("explain all_reduce --width 20", "--width");
  check("verify", "there is nothing to verify, or too much");
  check("verify --all all_reduce", "there is nothing to verify, or too much");
  check("verify all_reduce -n 9-3", "the range '9-3' in --ranks is empty");
  check("verify all_reduce -n 4,x", "'x' in --ranks '4,x' is not a number");
  check("verify all_reduce -n 4,", "'' in --ranks '4,' is not a number");
  check("verify broadcast -n 4 -r five", "--root 'five' is not a rank");
  check("verify --all -a chian", "no algorithm 'chian'");
  check("verify --file /nonexistent/file", "cannot read '/nonexistent/file'");
  check("explain --file /", "cannot read '/'");
  check("simulate all_reduce -b 1Q", "'1Q' is not a size in bytes");
  check("simulate all_reduce --alpha -1", "--alpha");
  check("why all_reduce", "the size of the all_reduce is missing");
  check("why all_reduce 2", "2 is less than an element. Try: at least 4 B");
  check("why all_gather 4 -n 2", "4 is less than an element for each rank. Try: at least 8 B");
  check("why barrier 1M", "a barrier has no size");
  check("why all_reduced 1M", "unknown collective 'all_reduced'");
  check("why all_reduce 1M -a chian", "'chian' is not a known name");
  check("why all_reduce 1M -t int7", "unknown type 'int7'. Try: one of int8, ");
  check("why all_reduce 1M -o plus", "unknown operator 'plus'. Try: one of sum, ");
  check("why all_reduce 1M -o bit_xor", "bit_xor combines the bits of integers, not of float32");
  check("why all_reduce 1M -n 0", "--ranks is 0");
  check("why broadcast 1M -n 4 -r 4", "root 4 is not one of 4 ranks");
  check("why all_reduce 1M --transport smoke", "'smoke' is not a known name");
  check("why all_reduce 1M --transport shm --apart", "no transport reaches the peer");
  check("why all_reduce 1M --alpha -1", "--alpha");
  check("sing", "unknown command 'sing'. Try: one of verify, explain, ");
  check("", "a command is required");
  check("simulate", "no collective is named");
  check("explain all_reduce -a ring -n 1000000", "more than 10000000 steps with 1000000 ranks");
  CHECK(run_rondo("--help").status == 0);
  CHECK(run_rondo("verify --help").says("Exit status 1 if something is wrong."));
}
