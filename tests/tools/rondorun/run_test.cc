// rondorun as a user meets it: environment, arguments, output, statuses, on one machine.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

using namespace rondo::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  auto lines = lines_of(text);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Checks the lines that `flood` writes: each rank's in order, nothing missing and nothing mixed.
void check_flood(const std::string& text, int ranks, int count, bool prefixed) {
  std::map<int, int> next;
  int wrong = 0;
  for (std::string line : lines_of(text)) {
    int rank = -1;
    int number = -1;
    if (prefixed) {
      const auto end = line.find("] ");
      wrong += line.rfind("[rank ", 0) != 0 || end == std::string::npos;
      const int tag = std::atoi(line.c_str() + 6);
      line.erase(0, end == std::string::npos ? 0 : end + 2);
      wrong += std::atoi(line.c_str()) != tag;
    }
    wrong += std::sscanf(line.c_str(), "%d %d", &rank, &number) != 2 || number != next[rank]++;
    const std::string whole = std::to_string(rank) + " " + std::to_string(number) + " " +
                              std::string(static_cast<std::size_t>(std::max(number, 0) % 97), 'x');
    wrong += line != whole + ".";
  }
  CHECK(wrong == 0);
  CHECK(next.size() == static_cast<std::size_t>(ranks));
  for (const auto& [rank, lines] : next) CHECK(lines == count);
}

}  // namespace

TEST_CASE("each rank finds who it is in its environment") {
  const auto result =
      finish(job({"-n", "3", "--master-port", "4321"},
                 {"environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                  "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}));
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(result.error == "");
  const std::string same =
      " LOCAL_WORLD_SIZE=3 GROUP_RANK=0 GROUP_WORLD_SIZE=1 NODE_RANK=0 MASTER_ADDR=127.0.0.1 "
      "MASTER_PORT=4321";
  CHECK(sorted_lines(result.output) ==
        std::vector<std::string>{"RANK=0 WORLD_SIZE=3 LOCAL_RANK=0" + same,
                                 "RANK=1 WORLD_SIZE=3 LOCAL_RANK=1" + same,
                                 "RANK=2 WORLD_SIZE=3 LOCAL_RANK=2" + same});
}

TEST_CASE("options set variables, and a torchrun around this one is forgotten") {
  auto command = job({"-n1", "--transport=tcp", "--algorithm", "ring", "--timeout", "7", "--debug",
                      "info", "--env", "A=b c", "--env", "LOCAL_RANK=9"},
                     {"environment", "RONDO_TRANSPORT", "RONDO_ALGORITHM", "RONDO_TIMEOUT",
                      "RONDO_DEBUG", "A", "LOCAL_RANK", "TORCHELASTIC_USE_AGENT_STORE", "KEPT"});
  command.environment = {"TORCHELASTIC_USE_AGENT_STORE=True", "KEPT=1", "RANK=5"};
  CHECK(finish(command).output ==
        "RONDO_TRANSPORT=tcp RONDO_ALGORITHM=ring RONDO_TIMEOUT=7 RONDO_DEBUG=info A=b c "
        "LOCAL_RANK=9 TORCHELASTIC_USE_AGENT_STORE=(unset) KEPT=1\n");
}

TEST_CASE("words after the program belong to the program") {
  const std::vector<std::string> options =
      GENERATE(std::vector<std::string>{"-n", "1", "--directory", "/"},
               std::vector<std::string>{"-n", "1", "--directory=/", "--"});
  const auto result =
      finish(job(options, {"arguments", "-n", "5", "--prefix", "--", "--help", "a b", ""}));
  INFO(result.error);
  CHECK(result.status == 0);
  CHECK(result.output == "[-n]\n[5]\n[--prefix]\n[--]\n[--help]\n[a b]\n[]\n/\n");
}

TEST_CASE("rank 0 reads the input, the others nothing") {
  auto command = job({"-n", "3"}, {"input"});
  command.input = "some words";
  CHECK(sorted_lines(finish(command).output) ==
        std::vector<std::string>{"rank 0 read 'some words'", "rank 1 read ''", "rank 2 read ''"});
}

TEST_CASE("lines of different ranks never mix") {
  const bool prefixed = GENERATE(false, true);
  std::vector<std::string> options{"-n", "4"};
  if (prefixed) options.push_back("--prefix");
  const auto result = finish(job(options, {"flood", "5000"}));
  INFO(result.error);
  CHECK(result.status == 0);
  check_flood(result.output, 4, 5000, prefixed);
  check_flood(result.error, 4, 5000, prefixed);
}

TEST_CASE("the last line needs no end, and a carriage return ends one") {
  CHECK(finish(job({"-n", "1", "--prefix"}, {"print", "10%\r20%\rdone\r\nend"})).output ==
        "[rank 0] 10%\r[rank 0] 20%\r[rank 0] done\r\n[rank 0] end");
}

TEST_CASE("--output-dir has a file for each rank and stream, and nothing else is left") {
  const TemporaryFolder folder;
  const auto result = finish(job({"-n", "2", "--output-dir", folder / "new"}, {"flood", "100"}));
  CHECK(result.output == "");
  CHECK(result.error == "");
  for (const char* name : {"rank.0.out", "rank.0.err", "rank.1.out", "rank.1.err"})
    check_flood(read_file(folder / "new/" + name), 1, 100, false);
  CHECK(folder.names() == std::vector<std::string>{"new"});
}

TEST_CASE("a full disk below --output-dir is told, and the job goes on") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "rank.1.out");
  const auto result = finish(job({"-n", "2", "--output-dir", folder.path()}, {"flood", "100"}));
  CHECK(result.status == 0);
  CHECK(result.error == "rondorun: cannot write '" + folder / "rank.1.out" +
                            "': No space left on device; the rest of it is lost\n");
  check_flood(read_file(folder / "rank.0.out"), 1, 100, false);
}

TEST_CASE("a full disk under rondorun's own output is told, and ends the job") {
  Command command;
  command.words = {"sh", "-c", "'" + rondorun() + "' -n 1 sh -c 'echo a; sleep 60' >/dev/full"};
  const auto result = finish(command);
  CHECK(result.status == 128 + SIGPIPE);
  CHECK(result.error == "rondorun: cannot write the output: No space left on device\n");
}

TEST_CASE("ranks get no descriptor that rondorun itself did not get") {
  Command direct;
  direct.words = {rank_program(), "descriptors"};
  const std::string inherited = finish(direct).output;
  CHECK(inherited.rfind("0 1 2 ", 0) == 0);
  CHECK(finish(job({"-n", "2"}, {"descriptors"})).output == inherited + inherited);
}

TEST_CASE("two jobs at once get different ports, which their ranks can listen on") {
  Process first(job({"-n", "3"}, {"peers", "0"}));
  Process second(job({"-n", "3"}, {"peers", "0"}));
  first.wait_for("up ");
  second.wait_for("up ");
  first.signal(SIGTERM);
  second.signal(SIGTERM);
  CHECK(first.wait() == 143);
  CHECK(second.wait() == 143);
}

TEST_CASE("--bind core gives each rank one core") {
  CHECK(finish(job({"-n", "1", "--bind", "core"}, {"cores"})).output == "1\n");
  const auto result = finish(job({"-n", "100000", "--bind", "core"}, {"cores"}));
  INFO(result.error);
  CHECK(result.status == 2);
  CHECK(result.error.find("--bind core: 100000 ranks, but ") != std::string::npos);
}

TEST_CASE("a terminal is handed to the ranks unless a prefix is wanted") {
  auto command = job({"-n", "1"}, {"terminal"});
  command.terminal = true;
  Process plain(command);
  plain.wait_for("a terminal\r\n");
  plain.wait_for("up ");
  plain.type("\x03");
  CHECK(plain.wait() == 130);
  plain.wait_none_living();
}

TEST_CASE("unfinished lines show on a terminal, each on a line of its own") {
  auto command = job({"-n", "2", "--prefix"}, {"print", "10%", "wait"});
  command.terminal = true;
  Process process(command);
  process.wait_for("10%", 2);
  const bool ordered = process.output() == "[rank 0] 10%\r\n[rank 1] 10%";
  CHECK((ordered || process.output() == "[rank 1] 10%\r\n[rank 0] 10%"));
  process.type("\x03");
  CHECK(process.wait() == 130);
}

TEST_CASE("mistakes are explained, with the exit status of a shell") {
  struct Case {
    std::vector<std::string> words;
    int status;
    std::string text;
  };
  const auto wrong = GENERATE(values<Case>({
      {{"-n", "2", "no-such-program"},
       127,
       "cannot run 'no-such-program': there is no program of that name"},
      {{"-n", "2", "./no-such"}, 127, "cannot run './no-such': No such file or directory"},
      {{"-n", "2", "/etc/passwd"}, 126, "cannot run '/etc/passwd': Permission denied"},
      {{"-n", "2", "/"}, 126, "cannot run '/': Permission denied"},
      {{"-n", "2", "--directory", "/no/such", "true"}, 1, "change to directory '/no/such'"},
      {{"-n", "2", "--output-dir", "/dev/null/x", "true"}, 1, "make directory '/dev/null/x'"},
      {{"-n", "0", "true"}, 2, "-n: there must be at least 1 rank"},
      {{"-n", "x", "true"}, 2, "x"},
      {{"true"}, 2, "the number of ranks is missing"},
      {{"-n", "2"}, 2, "no program was given"},
      {{"-n", "2", "--no-such", "true"}, 2, "unknown option --no-such"},
      {{"--no-such", "-n", "2", "true"}, 2, "unknown option --no-such"},
      {{"-n", "2", "--master-port", "99999", "true"}, 2, "--master-port 99999: give a port from 1"},
      {{"-n", "2", "--master-port", "x", "true"}, 2, "--master-port x: give a port from 1"},
      {{"-n", "2", "--timeout", "-3", "true"}, 2, "--timeout -3: give 0.001 to"},
      {{"-n", "2", "--timeout", "3s", "true"}, 2, "--timeout 3s: give 0.001 to"},
      {{"-n", "2", "--env", "X", "true"}, 2, "--env: 'X' is not of the form NAME=VALUE"},
      {{"-n", "2", "--nnodes", "2", "true"}, 2, "need --master-addr and --master-port"},
      {{"-n", "2", "--nnodes", "2", "--node-rank", "2", "true"}, 2, "must be from 0 to 1"},
      {{"--hosts", "a:0", "true"}, 2, "--hosts: 'a:0' has no number of ranks"},
      {{"--hosts", "a:1", "-n", "2", "true"}, 2, "--hosts offers only 1 ranks"},
      {{"--bind", "x", "-n", "1", "true"}, 2, "--bind"},
      {{"--grace", "-1", "-n", "1", "true"}, 2, "--grace"},
  }));
  Command command;
  command.words = {rondorun()};
  command.words.insert(command.words.end(), wrong.words.begin(), wrong.words.end());
  const auto result = finish(command);
  INFO(result.error);
  CHECK(result.status == wrong.status);
  CHECK(result.output == "");
  CHECK(result.error.rfind("rondorun: ", 0) == 0);
  CHECK(result.error.find(wrong.text) != std::string::npos);
}

TEST_CASE("more ranks than there are descriptors for are refused before any is started") {
  Command command;
  command.words = {"sh", "-c", "ulimit -n 100; exec \"$@\"", "sh"};
  const Command job = rondo::test::job({"-n", "100"}, {"print", "started"});
  command.words.insert(command.words.end(), job.words.begin(), job.words.end());
  const auto result = finish(command);
  CHECK(result.status == 2);
  CHECK(result.output == "");
  CHECK(result.error.find("rondorun: 100 ranks on ") == 0);
  CHECK(result.error.find("the limit is 100; start fewer ranks or raise it (ulimit -n)") !=
        std::string::npos);
}

TEST_CASE("--help shows examples and --version the version") {
  Command command;
  command.words = {rondorun(), "--help"};
  const auto help = finish(command);
  CHECK(help.status == 0);
  for (const char* text : {"Usage: rondorun -n N", "--hosts", "--prefix", "--elastic",
                           "Examples:", "Input:", "0 if at least one rank ends with 0"})
    CHECK(help.output.find(text) != std::string::npos);
  command.words = {rondorun(), "--version"};
  CHECK(finish(command).output.rfind("rondorun ", 0) == 0);
}
