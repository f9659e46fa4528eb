// The formulas give the textbook's numbers. Those of accumulation and sharding agree with each
// other.
#include "tools/trainer/report/formulas.h"

#include <algorithm>
#include <array>

#include "algorithms/table.h"
#include "core/schedule/formula.h"
#include "core/schedule/simulate.h"
#include "rondo/error.h"
#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/trainer/train.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/trainer/report/validation.h"

using namespace rondo;
using namespace rondo::train;

namespace {

const StrategyInfo& kind_of(std::string_view name) {
  return *std::ranges::find(strategies(), name, &StrategyInfo::name);
}

/// Memory of 7 billion parameters on 8 ranks, and bytes of a step in units of f times the model: with
/// one micro-step, with five, and with five that are all reduced.
struct Row {
  const char* strategy;
  double memory, one, five, each;
};
constexpr std::array rows{Row{"ddp", 112e9, 2, 2, 10}, Row{"zero1", 38.5e9, 2, 2, 2},
                          Row{"zero2", 26.25e9, 2, 6, 6}, Row{"zero3", 14e9, 3, 15, 15}};

TEST_CASE("7 billion parameters on 8 ranks: 112, 38.5, 26.25 and 14 GB") {
  for (const Row& row : rows) {
    const Traits mixed{.strategy = kind_of(row.strategy),
                       .ranks = 8,
                       .parameters = 7'000'000'000,
                       .element = 2,
                       .gradient_wire = 2,
                       .state_bytes = 12};  // Adam in mixed precision
    CHECK(StepFormulas(mixed).memory().value == Approx(row.memory));
    const Traits alone{.strategy = kind_of(row.strategy), .ranks = 1, .parameters = 1000};
    CHECK(StepFormulas(alone).memory().value == Approx(16000));
    CHECK(StepFormulas(alone).bytes().value == 0);
  }
}

TEST_CASE("a step sends 2f, 2f, 2f and 3f times the model; with A micro-steps 2f, 2f, A+1 and 3A") {
  for (const int ranks : {2, 3, 4, 8}) {
    const double unit = 4800.0 * (ranks - 1) / ranks;
    for (const Row& row : rows) {
      Traits traits{.strategy = kind_of(row.strategy), .ranks = ranks, .parameters = 1200};
      CHECK(StepFormulas(traits).bytes().value == Approx(row.one * unit));
      traits.micro_steps = 5;
      CHECK(StepFormulas(traits).bytes().value == Approx(row.five * unit));
      traits.reduces_every_micro_step = true;
      CHECK(StepFormulas(traits).bytes().value == Approx(row.each * unit));
    }
  }
  const Traits each{.strategy = kind_of("ddp"), .micro_steps = 5, .reduces_every_micro_step = true};
  CHECK(StepFormulas(each).bytes().text == "2A f G");
}

TEST_CASE("other algorithms have formulas of their own, as text") {
  Traits traits{.strategy = kind_of("ddp"),
                .ranks = 4,
                .parameters = 1200,
                .calls = 2,
                .reduced_by = "double_tree"};
  const StepFormulas tree(traits);
  CHECK(tree.bytes().text == "2f G");
  CHECK(tree.messages().text == "double_tree: 4(P-1)/P a call");
  CHECK(tree.cost_words() ==
        "all_reduce by double_tree: rounds 2(q+floor(log2(P))-1) = 6; its busiest rank sends "
        "min(2,P/2) = 2 N, adds 1 = 1 N\n");
  CHECK(tree.seconds({.alpha = 1, .beta = 1e-3, .gamma = 1e-6}) ==
        Approx(2 * 2 * 3 + 1e-3 * 2 * 4800 + 1e-6 * 4800));
  traits.reduced_by = "one_shot";
  CHECK(StepFormulas(traits).bytes().text == "one_shot: (P-1) G");
  traits.reduced_by = traits.gathered_by = "circulant";
  traits.strategy = kind_of("zero3");
  CHECK(StepFormulas(traits).messages().text == "circulant: q a call");
}

TEST_CASE("the means of what algorithms send are those of their schedules") {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    for (const Algorithm& row : algorithms()) {
      if (row.collective != collective) continue;
      const auto cost = find_call_cost(collective, row.name);
      REQUIRE(cost);
      for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12, 16, 17}) {
        INFO(name(collective) << " by " << row.name << " on " << ranks << " ranks");
        double messages = 0;
        double sent = 0;
        for (const RankCost& one : simulate(row.build(ranks, 0), 1, {}).ranks) {
          messages += static_cast<double>(one.messages) / ranks;
          sent += one.sent / ranks;
        }
        const Variables variables = cost_variables(ranks);
        const auto value = [&](std::string_view term) { return evaluate(term, variables); };
        CHECK(value(cost->messages) == Approx(messages));
        CHECK(value(cost->mean_sent) == Approx(sent));
      }
    }
  }
  CHECK_FALSE(find_call_cost(Collective::all_gather, "double_tree"));
}

/// Of `ranks` ranks, with these samples: bytes, seconds of an exchange, and of one that combines.
tool::LinkProfile link_of(int ranks, int hosts, double alpha,
                          const std::vector<std::array<double, 3>>& samples) {
  tool::LinkProfile link{.transport = "tcp", .ranks = ranks, .cores = ranks, .hosts = hosts};
  link.alpha.median = alpha;
  for (const auto& [bytes, exchange, combining] : samples) {
    link.exchange.push_back({bytes, {0, exchange, 0}});
    link.combining.push_back({bytes, {0, combining, 0}});
  }
  return link;
}

TEST_CASE("a profile gives a link's rate and constants, and is refused in words where it is none") {
  const rondo::test::TemporaryFolder folder;
  const std::string path = folder / "profile.json";
  const auto profile = [&](const std::vector<tool::LinkProfile>& links) {
    tool::write_profile({.machine = {"one", 2}, .date = "today", .links = links}, path);
  };
  profile({link_of(2, 1, 1e-6, {{1000, 2e-6, 3e-6}, {1e6, 1.002e-3, 3.002e-3}})});
  const Link link = read_link(path, "tcp", 4, false, 1e6);
  CHECK(link.rate == Approx(1e6 / 1.002e-3));
  CHECK(link.alpha == Approx(1e-6));
  CHECK(link.beta == Approx(1e-9));
  CHECK(link.gamma == Approx(2e-9));
  CHECK(link.words == "tcp between 2 ranks; one, 2 cores, today");
  CHECK_THROWS_WITH(read_link(path, "shm", 2, false, 1),
                    Catch::Contains("has nothing about 'shm'"));
  CHECK_THROWS_WITH(read_link(path, "tcp", 4, true, 1), Catch::Contains("ranks on several hosts") &&
                                                            Catch::Contains("under a launcher"));
  profile({link_of(4, 4, 0, {{1000, 1.5e-5, 1.5e-5}})});
  CHECK(read_link(path, "tcp", 2, true, 1000).beta == Approx(1e-8));
  CHECK_THAT(read_link(path, "tcp", 2, true, 1000).words, Catch::StartsWith("tcp between 4 hosts"));
  CHECK_THROWS_WITH(read_link(path, "tcp", 4, false, 1), Catch::Contains("on one host"));
  // With four ranks an exchange of 1000 bytes sends 1500. The call's size decides, not the bytes
  // sent. Ranks that share cores combine one after the other.
  auto four = link_of(4, 1, 0, {{1000, 1.5e-6, 3e-6}, {2000, 6e-6, 6e-6}});
  profile({four});
  CHECK(read_link(path, "tcp", 4, false, 2000).beta == Approx(2e-9));
  CHECK(read_link(path, "tcp", 4, false, 2000).gamma == 0);
  CHECK(read_link(path, "tcp", 4, false, 1000).gamma == Approx(1e-9));
  four.cores = 2;
  profile({four});
  CHECK(read_link(path, "tcp", 4, false, 1000).gamma == Approx(1e-9));
  profile({link_of(2, 1, 0, {{1000, 0, 0}})});
  CHECK_THROWS_WITH(read_link(path, "tcp", 2, false, 1000),
                    Catch::Contains("its samples are no times"));
  rondo::test::write_file(path, "{");
  CHECK_THROWS_WITH(read_link(path, "tcp", 2, false, 1),
                    Catch::Contains("rondo calibrate --output"));
}

TEST_CASE("a validation says what is exact, what is within its bar and what is off") {
  Evidence evidence{
      .traits = {.strategy = kind_of("zero2"), .ranks = 4, .parameters = 1200, .calls = 2},
      .settled = true,
      .full = true,
      .payload = 7200,
      .messages = 12,
      .alone = 0.010};
  evidence.state = 4800 + 1200 + 2400;
  evidence.compute = 0.020;
  evidence.exposed = 0.004;
  evidence.step = 0.024;
  for (const ValidationRow& row : validation_rows(evidence)) {
    INFO(row.what);
    CHECK(row.within());
    if (row.what == "payload a rank") CHECK(row.difference() == 0);
    if (row.what == "overlap") CHECK(row.measured == Approx(60));
    if (row.what == "speed-up over t_c") CHECK(row.predicted == Approx(4 * 20.0 / 24));
  }
  evidence.payload += 4;
  CHECK_THAT(validation_text(evidence), Catch::Contains("OFF"));
  evidence.skipped = 1;  // formulas are of steps that were taken
  CHECK_THAT(validation_text(evidence), !Catch::Contains("OFF") && Catch::Contains("skipped"));
  evidence.skipped = 0;
  evidence.payload -= 4;
  CHECK_THAT(validation_text(evidence), !Catch::Contains("OFF"));
  CHECK_NOTHROW(demand_within(validation_rows(evidence)));
  evidence.state += 7200;
  CHECK_FALSE(validation_rows(evidence)[2].within());
  CHECK_THROWS_WITH(demand_within(validation_rows(evidence)),
                    Catch::Contains("differ from the formulas: memory a rank."));
}

TEST_CASE("messages that devices do not send are left out; others that are missing are off") {
  Evidence evidence{
      .traits = {.strategy = kind_of("ddp"), .ranks = 4, .parameters = 1200, .calls = 2},
      .settled = true};
  CHECK(validation_rows(evidence)[0].what == "payload a rank");
  CHECK_FALSE(validation_rows(evidence)[0].within());
  evidence.settled = false;
  CHECK(validation_rows(evidence)[0].what == "memory a rank");
  CHECK_THAT(validation_text(evidence), Catch::Contains("from GPU to GPU"));
}

TEST_CASE("what a step sends by any algorithm is what that algorithm's formula says") {
  struct Case {
    const char* strategy;
    const char* algorithm;
  };
  const auto each = GENERATE(values<Case>({{"ddp", "double_tree"},
                                           {"ddp", "binomial_tree"},
                                           {"ddp", "chain"},
                                           {"ddp", "recursive_doubling"},
                                           {"ddp", "one_shot"},
                                           {"ddp", "two_shot"},
                                           {"ddp", "circulant"},
                                           {"zero1", "circulant"},
                                           {"zero3", "bidirectional_ring"},
                                           {"zero3", "binomial_tree"},
                                           {"zero2", "one_shot"}}));
  auto options = test::small_gpt_options();
  options.steps = 2;
  options.validate = true;
  options.strategy.kind = each.strategy;
  const int ranks = GENERATE(2, 3, 4);
  const std::string text = test::train_on(ranks, options, {.algorithm = each.algorithm}).text;
  INFO(each.strategy << " by " << each.algorithm << " on " << ranks << " ranks:\n" << text);
  CHECK_THAT(text, Catch::Contains("messages  ") && Catch::Contains(each.algorithm));
  CHECK_THAT(text, Catch::Contains("+0.00%  within") && !Catch::Contains("OFF"));
}

TEST_CASE(
    "where calls choose for themselves and one larger than the mean goes another way, no count "
    "is promised") {
  train::Options options;
  options.model.layers = 1;
  options.model.width = 128;  // a block of 790 KB, and the root of 24 KB
  options.strategy.bucket_bytes = 1024;
  options.block = 8;
  options.steps = 2;
  options.batch = 12;
  options.progress = "none";  // which formulas that were asked for do not heed
  options.formulas = "full";
  const std::string text = test::train_on(2, options, {.transport = "tcp"}).text;
  INFO(text);
  CHECK_THAT(text, Catch::Contains("one_shot: P-1 a call") && !Catch::Contains("OFF"));
}

TEST_CASE("what every strategy sends and holds is what its formula says, for any number of ranks") {
  for (const StrategyInfo& row : strategies()) {
    for (const auto precision : {Precision::float32, Precision::bf16}) {
      for (const int ranks : {1, 2, 3, 4}) {
        auto options = test::small_gpt_options();
        options.steps = 3;
        options.accumulate = 2;
        options.validate = true;
        options.strategy.kind = row.name;
        options.strategy.precision = options.strategy.wire = precision;
        const std::string text = test::train_on(ranks, options, {.algorithm = "ring"}).text;
        INFO(row.name << " in " << info(precision).name << " on " << ranks << " ranks:\n" << text);
        CHECK_THAT(text, Catch::Contains("payload a rank") && Catch::Contains("within"));
        CHECK_THAT(text, !Catch::Contains("OFF"));
      }
    }
  }
}

}  // namespace
