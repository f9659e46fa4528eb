// rondo-train as a user starts it.
#include <algorithm>

#include "tests/catch.h"
#include "tests/tools/rondorun/support/process.h"

namespace {

using namespace rondo::test;
using Words = std::vector<std::string>;

const Words quick{"--layers", "1",  "--width", "16", "--heads", "2",
                  "--block",  "16", "--batch", "6",  "--steps", "6"};

Result trained(const Words& launcher, const Words& options) {
  Command command{.words = launcher};
  command.words.push_back(RONDO_TRAIN_PATH);
  command.words.insert(command.words.end(), options.begin(), options.end());
  return finish(command);
}

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("ranks train, write text and leave a log and a picture") {
  const TemporaryFolder folder;
  const std::string log = folder / "log.json";
  const std::string plot = folder / "plot.svg";
  const auto ended = trained({rondorun(), "-n", "3"},
                             quick + Words{"--log", log, "--plot", plot, "--sample", "30"});
  CHECK(trouble(ended.error) == "");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, Catch::Contains("ddp on 3 ranks, 96 tokens a step"));
  CHECK_THAT(ended.output, Catch::Contains("step 6/6  loss "));
  CHECK_THAT(ended.output, Catch::Contains("time a step, rank 0 (ms):"));
  CHECK_THAT(read_file(log), Catch::Contains("\"step\":6"));
  CHECK_THAT(ended.output, Catch::Contains("payload a rank"));
  CHECK_THAT(ended.output, Catch::Contains("log " + log + ", plot " + plot));
  CHECK_THAT(read_file(plot), Catch::Contains("</svg>"));
}

TEST_CASE("a run that is refused, or has nothing left to do, leaves the log before it alone") {
  const TemporaryFolder folder;
  const std::string log = folder / "log.csv";
  const Words saved = quick + Words{"--checkpoint", folder / "saved", "--log", log};
  REQUIRE(trained({}, saved).status == 0);
  const std::string before = read_file(log);
  CHECK_THAT(before, Catch::Contains("\n6,"));
  const auto refused = trained({}, saved);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.error, Catch::Contains("holds a checkpoint of step 6"));
  CHECK(read_file(log) == before);
  CHECK(trained({}, saved + Words{"--resume"}).status == 0);
  CHECK(read_file(log) == before);
}

TEST_CASE("it runs without a launcher, too") {
  const auto ended = trained({}, quick);
  CHECK(trouble(ended.error) == "");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, Catch::Contains("ddp on 1 rank, 96 tokens a step"));
}

TEST_CASE("the help is text") {
  const auto ended = trained({}, {"--help"});
  CHECK(ended.status == 0);
  CHECK_THAT(ended.output, Catch::Contains("--precision TYPE:{float32,bf16,fp16}"));
  CHECK_THAT(ended.output,
             Catch::Contains("Go on when ranks die, and take in processes that --join"));
  const auto printable = [](char byte) { return byte == '\n' || (byte >= ' ' && byte <= '~'); };
  CHECK(std::all_of(ended.output.begin(), ended.output.end(), printable));
}

TEST_CASE("mistakes end every rank at once, and are said once") {
  struct Case {
    Words options;
    std::string words;
    int status;
  };
  const auto wrong = GENERATE(values<Case>({
      {{"--data", "/nowhere"}, "cannot read the text /nowhere", 1},
      {{"--learning-rate", "1e30", "--warm-up", "0"}, "is not a number", 1},
      {{"--strategy", "magic"}, "there is no strategy 'magic'", 1},
      {{"--compress", "topk"}, "is neither int8 nor topk:SHARE", 2},
      {{"--validate", "--compress", "topk:0.1"}, "there is no formula for --compress", 2},
      {{"--log", "x.txt"}, "ends in .csv or .json", 2},
      {{"--device", "tpu"}, "--device", 2},
      {{"--sample", "5", "--prompt", "Z\x7f"}, "the text has no '", 1},
      {{"--strategy", "hogwild", "--checkpoint", "x"}, "the ranks of hogwild differ in it", 1},
      {{"--strategy", "hogwild", "--precision", "bf16"}, "puts float32 changes between CPUs", 1},
      {{"--strategy", "local_sgd", "--local-steps", "0"}, "--local-steps and --staleness count", 1},
      {{"--local-steps", "4"}, "--local-steps works only with --strategy local_sgd", 2},
      {{"--strategy", "hogwild", "--validate"}, "no formulas for hogwild and local_sgd", 2},
      {{"--strategy", "hogwild", "--elastic"}, "--elastic does not work with --validate, ", 2},
      {{"--momentum", "0.5"}, "--momentum works only with --optimizer sgd", 2},
      {{"--formulas", "full", "--profile", "/nowhere"},
       "the profile '/nowhere': there is no such file",
       1},
      {{"--formulas", "full", "--profile", "/"}, "the profile '/': there is no such file", 1},
      {{"--bucket-mb", "0"}, "above 0, as in --bucket-mb 25", 2},
      {{"--sample", "-1"}, "--sample: -1 is below 0", 2},
      {{"--threads", "0"}, "--threads 0: matrix products need at least one. Try: --threads 1", 1},
      {{"--memory-limit", "-1"}, "--memory-limit: -1 is below 0", 2},
      {{"--memory-limit", "17592186044416"}, "more than can be counted", 2},
      {{"--precision", "1"}, "--precision: 1 not in {float32,bf16,fp16}", 2},
      {{"--checkpoint", "x", "--checkpoint-keep", "0"}, "--checkpoint-keep: must be at least 1", 2},
      {{"--elastic", "--compress", "topk:0.1"}, "--elastic does not work with --validate, ", 2},
      {{"--elastic", "--validate"}, "--elastic does not work with --validate, ", 2},
      {{"--elastic", "--device", "gpu"}, "--elastic does not work with --validate, ", 2},
      {{"--join", "--elastic"}, "--join works only with --elastic and --checkpoint DIR", 2},
      {{"--join", "--checkpoint", "x"}, "--join works only with --elastic and --checkpoint", 2},
  }));
  const auto ended = trained({rondorun(), "-n", "2"}, quick + wrong.options);
  CHECK(ended.status == wrong.status);
  CHECK_THAT(ended.error, Catch::Contains(wrong.words));
  CHECK(ended.error.find(wrong.words) == ended.error.rfind(wrong.words));
}

}  // namespace
