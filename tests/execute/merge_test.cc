// Merged programs: the verifier accepts those of every algorithm, and names each thing that is wrong
// with a program that was changed.
#include "core/plan/merge.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/builders.h"
#include "algorithms/table.h"
#include "core/plan/joint.h"
#include "core/plan/shared_rules.h"
#include "core/schedule/collective.h"
#include "core/schedule/text.h"
#include "core/schedule/verify.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using Programs = std::vector<Program>;

constexpr Sharing copies{.places = Places::copies};
constexpr Sharing buffers{.places = Places::buffers};
constexpr Sharing posted{.places = Places::buffers, .posted = Posted::sums};
constexpr Sharing pushed{.places = Places::buffers, .posted = Posted::all};

std::vector<int> roots(Collective collective, int ranks) {
  if (!info(collective).has_root) return {0};
  if (ranks <= 9) {
    std::vector<int> all;
    for (int root = 0; root < ranks; ++root) all.push_back(root);
    return all;
  }
  return {0, ranks / 2, ranks - 1};
}

/// Algorithms whose merged form reads what its owner may already have changed. The verifier says so.
bool is_racy(const Algorithm& row, const Sharing& sharing, int ranks) {
  if (row.name == "recursive_doubling") return sharing.places == Places::buffers || ranks > 2;
  const bool adds_vectors = row.collective == Collective::all_reduce || is_token(row.collective);
  return sharing.places == Places::buffers && adds_vectors &&
         (row.name == "one_shot" || row.name == "dissemination");
}

TEST_CASE("the verifier accepts merged programs, for any number of ranks and any root") {
  for (const Algorithm& row : algorithms()) {
    for (const Sharing& sharing : {copies, buffers, posted, pushed}) {
      for (int ranks = 1; ranks <= 33; ++ranks) {
        for (const int root : roots(row.collective, ranks)) {
          const Schedule schedule = row.build(ranks, root);
          const auto programs = merge(schedule, sharing);
          if (!programs) {
            CAPTURE(name(row.collective), row.name, ranks, root);
            REQUIRE_FALSE(is_used(row.collective, row.name, sharing, ranks));
            continue;
          }
          const Report report = verify(schedule, *programs);
          CAPTURE(name(row.collective), row.name, ranks, root, static_cast<int>(sharing.posted),
                  sharing.places == Places::copies, report.findings);
          // Scans other than this one are racy here and there. What is used must not be.
          const bool open = is_scan(row.collective) && row.steps != chain_scan;
          const bool racy = open ? !report.ok() : is_racy(row, sharing, ranks);
          const bool posts_one_round = row.name == "one_shot" || row.name == "linear";
          if (sharing.posted == Posted::all && !posts_one_round && !report.ok()) continue;
          if (ranks > 1 && racy) {
            REQUIRE_FALSE(report.ok());
            REQUIRE_FALSE(is_used(row.collective, row.name, sharing, ranks));
            continue;
          }
          REQUIRE(report.ok());
          REQUIRE((report.rank_order || !row.rank_order));
        }
      }
    }
  }
}

TEST_CASE("every rule names an algorithm of its collective") {
  for (const SharedRule& rule : shared_rules) {
    CAPTURE(name(rule.collective), rule.choice.algorithm);
    CHECK(find_algorithm(rule.collective, rule.choice.algorithm) != nullptr);
    CHECK(is_used(rule.collective, rule.choice.algorithm, {.places = rule.choice.places}, 2));
  }
  CHECK(is_used(Collective::reduce, "two_shot", posted, 64));
  CHECK_FALSE(is_used(Collective::all_reduce, "one_shot", buffers, 2));
}

TEST_CASE("messages become places, and sums are stored to whoever wants them") {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "two_shot")->build(4, 0);
  const Programs twice = *merge(schedule, buffers);
  REQUIRE(twice[1].ops.size() == 4);  // a sum, and three results of others
  CHECK(twice[1].operands_of(twice[1].ops[0]).size() == 4);
  CHECK(twice[1].ops[0].shown);
  CHECK(twice[1].ops[3].stage == 1);
  CHECK(twice[1].stages == 2);
  CHECK(twice[1].uses.size() == 6);  // its input and its result, by each of the others
  const Programs once = *merge(schedule, posted);
  REQUIRE(once[1].ops.size() == 1);
  CHECK(once[1].stores_of(once[1].ops[0]).size() == 3);
  CHECK(once[1].stages == 1);
}

TEST_CASE("what a rank sends unchanged is stored to all receivers by one op") {
  for (const char* const name : {"one_shot", "linear"}) {
    const Collective collective =
        name == std::string("linear") ? Collective::all_to_all : Collective::all_gather;
    const Programs all = *merge(find_algorithm(collective, name)->build(4, 0), pushed);
    CAPTURE(name);
    CHECK(all[1].stages == 1);
    const auto stores = [](const Op& op) { return op.stores + (op.writes ? 1 : 0); };
    for (const Op& op : all[1].ops) CHECK(stores(op) == 4 / all[1].ops.size());
    CHECK(all[1].ops.size() == (collective == Collective::all_gather ? 1 : 4));
  }
}

TEST_CASE("what a rank sends before others store there follows none of their stages") {
  const Schedule schedule = parse_schedule(
      "collective all_reduce\nalgorithm pass_on\nranks 3\n"
      "rank 0\n receive_reduce input[0] then from 2 into output[0]\n"
      " send output[0] to 1\n send output[0] to 2\n"
      "rank 1\n copy input[0] into output[0]\n send output[0] to 2\n"
      " receive from 0 into output[0]\n"
      "rank 2\n receive_reduce input[0] then from 1 into output[0]\n"
      " send output[0] to 0\n receive from 0 into output[0]\n");
  CHECK(merge(schedule, posted)->front().stages == 3);
}

TEST_CASE("a sum that only a message holds cannot be a place") {
  CHECK_FALSE(merge(find_algorithm(Collective::all_reduce, "ring")->build(3, 0), copies));
  CHECK_FALSE(merge(find_algorithm(Collective::reduce, "two_shot")->build(3, 0), buffers));
}

TEST_CASE("ops of all ranks read everything once, and nothing that another one writes in place") {
  const Collective collective = GENERATE(from_range(collectives)).collective;
  if (is_scan(collective) || is_token(collective)) return;  // not in streams
  for (int ranks = 1; ranks <= 33; ++ranks)
    for (const int root : roots(collective, ranks)) {
      CAPTURE(name(collective), ranks, root);
      JointPlans plans(ranks);
      const auto& ops = plans.of(collective, root).ops;
      std::map<std::pair<int, Chunk>, const JointOp*> readers;
      for (const auto& [op, targets] : ops)
        for (const Operand& each : op.operands)
          REQUIRE(readers.emplace(std::pair(each.peer, each.chunk), &op).second);
      for (const auto& [op, targets] : ops)
        for (const int target : targets) {
          const auto reader = readers.find({target, input(static_cast<int>(op.into.first))});
          const bool is_free = reader == readers.end() || reader->second == &op;
          REQUIRE((is_free || !may_alias(collective)));
        }
    }
}

/// The verifier's findings after a change to one rank's program.
std::string found(const Sharing& sharing, const std::function<void(Programs&)>& change) {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "two_shot")->build(3, 0);
  Programs programs = *merge(schedule, sharing);
  change(programs);
  std::string text;
  for (const std::string& finding : verify(schedule, programs).findings) text += finding + "\n";
  return text;
}

TEST_CASE("the verifier names what is wrong with a merged program") {
  using Catch::Contains;
  CHECK(found(buffers, [](Programs&) {}).empty());
  CHECK_THAT(found(buffers, [](Programs& all) { all[1].ops[1].stage = 0; }),
             Contains("rank 1 op 1 (all-gather round 1, stage 1) reads output chunk 0 of "
                      "rank 0, which no step of an earlier stage shows"));
  CHECK_THAT(found(buffers,
                   [](Programs& all) {
                     for (Op& op : all[1].ops) op.stage = 0;
                   }),
             Contains("nothing orders the two"));
  CHECK_THAT(found(buffers, [](Programs& all) { all[2].uses.pop_back(); }),
             Contains("rank 2 does not know that rank 1 reads"));
  CHECK_THAT(found(posted, [](Programs& all) { all[2].uses.pop_back(); }),
             Contains("rank 2 does not know that rank 1 stores to"));
  CHECK_THAT(found(copies, [](Programs& all) { all[0].ops[0].shown = false; }),
             Contains("which no step of an earlier stage shows"));
  CHECK_THAT(
      found(buffers, [](Programs& all) { std::swap(all[0].ops.front(), all[0].ops.back()); }),
      Contains("not in the order of their stages"));
  CHECK_THAT(found(posted, [](Programs& all) { all[0].ops[0].stores = 1; }),
             Contains("output chunk 0 ends with"));
  CHECK_THAT(found(posted,
                   [](Programs& all) {
                     for (Program& program : all) program.places = Places::copies;
                   }),
             Contains("whose buffers cannot be reached"));
  CHECK_THAT(found(buffers, [](Programs& all) { all[0].operands[0].chunk.first = 1; }),
             Contains("combines {0} of chunk 1 with {1} of chunk 0"));
  CHECK_THAT(found(buffers, [](Programs& all) { all[0].stages = 3; }),
             Contains("merged in different ways"));
}

TEST_CASE("a place that its owner may have changed is refused, and both steps are named") {
  const Schedule schedule = find_algorithm(Collective::all_reduce, "one_shot")->build(2, 0);
  const Report report = verify(schedule, *merge(schedule, buffers));
  const bool named = std::ranges::any_of(report.findings, [](const std::string& finding) {
    return finding.find(
               "rank 0 op 0 (all-reduce round 1, stage 1) writes chunk 0 of rank 0's "
               "memory, and rank 1 op 0 (all-reduce round 1, stage 1) reads it") !=
           std::string::npos;
  });
  CAPTURE(report.findings);
  CHECK(named);
  CHECK(verify(schedule, *merge(schedule, copies)).ok());
}

}  // namespace
}  // namespace rondo
