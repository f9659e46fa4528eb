// The co-residency check: which ranks may run kernels that wait for each other?
#include "core/resident/co_residency.h"

#include "core/base/archive.h"
#include "core/resident/block_budget.h"
#include "tests/catch.h"

namespace rondo::resident {
namespace {

Candidate candidate(std::uint64_t process, const std::string& device, bool shares = false) {
  Candidate made;
  made.process = process;
  made.device = device;
  made.shares = shares;
  made.blocks = 100;
  made.taken = 0;
  return made;
}

TEST_CASE("kernels may wait for each other where each is sure to run") {
  struct Row {
    std::vector<Candidate> candidates;
    std::string obstacle;
  };
  const auto row = GENERATE(values<Row>({
      {{candidate(1, "a"), candidate(1, "b")}, ""},
      {{candidate(1, "a"), candidate(2, "b")}, ""},
      {{candidate(1, "a"), candidate(1, "a")},
       "ranks 0 and 1 are of one process and use one device"},
      {{candidate(1, "a", true), candidate(2, "b", true), candidate(1, "a", true)},
       "ranks 0 and 2 are of one process and use one device"},
      {{candidate(1, "a"), candidate(2, "a")},
       "ranks 0 and 1 take turns on one device, as MPS does not run there"},
      {{candidate(1, "a", true), candidate(2, "a", true)}, ""},
      {{candidate(1, "a", true), candidate(2, "a")},
       "ranks 0 and 1 take turns on one device, as MPS does not run there"},
      {{candidate(1, "a", true), candidate(2, "b"), candidate(3, "a", true)}, ""},
  }));
  CHECK(obstacle_of(row.candidates, 8) == row.obstacle);
}

TEST_CASE("communicators take at most three quarters of what a device runs at once") {
  std::vector<Candidate> candidates{candidate(1, "a"), candidate(2, "b")};
  candidates[1].taken = 67;
  CHECK(obstacle_of(candidates, 8).empty());
  candidates[1].taken = 68;
  CHECK(obstacle_of(candidates, 8) ==
        "rank 1: the device runs 100 blocks at once, and with this communicator 76 would wait, "
        "more than three quarters");
  std::vector<Candidate> sharing(10, candidate(0, "a", true));
  for (std::size_t rank = 0; rank < sharing.size(); ++rank) sharing[rank].process = rank;
  CHECK_THAT(obstacle_of(sharing, 8), Catch::Contains("with this communicator 80 would wait"));
  sharing.pop_back();
  CHECK(obstacle_of(sharing, 8).empty());
}

TEST_CASE(
    "a rank's own obstacle is named before all others, and candidates are passed on as bytes") {
  Candidate lacking;
  lacking.obstacle = "this rondo has no device kernels. Try: nvcc";
  const std::vector<Candidate> candidates{candidate(1, "a"), unpack<Candidate>(pack(lacking))};
  CHECK(obstacle_of(candidates, 8) == "rank 1: this rondo has no device kernels. Try: nvcc");
  Candidate busy = candidate(~std::uint64_t{0}, "0123abcd", true);
  busy.taken = 5;
  const auto whole = unpack<Candidate>(pack(busy));
  CHECK(whole.process == ~std::uint64_t{0});
  CHECK(whole.device == "0123abcd");
  CHECK(whole.shares);
  CHECK(whole.blocks == 100);
  CHECK(whole.taken == 5);
  CHECK(whole.obstacle.empty());
}

TEST_CASE("room on a device is given back") {
  const BlockBudget first("room test", 8);
  CHECK(first.taken() == 8);
  {
    const BlockBudget second("room test", 4);
    CHECK(second.taken() == 12);
    CHECK(BlockBudget("another", 1).taken() == 1);
  }
  BlockBudget less("room test", 32);
  CHECK(less.taken() == 40);
  less.reduce(8);
  CHECK(BlockBudget("room test", 1).taken() == 17);
  CHECK(BlockBudget("room test", 4).taken() == 20);
}

}  // namespace
}  // namespace rondo::resident
