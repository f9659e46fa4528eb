// The co-residency check: which ranks may run kernels that wait for each other?
#include "core/resident/tenancy.h"

#include "core/resident/room.h"
#include "tests/catch.h"

namespace rondo::resident {
namespace {

Tenant tenant(std::uint64_t process, const std::string& device, bool shares = false) {
  Tenant made;
  made.process = process;
  made.device = device;
  made.shares = shares;
  made.blocks = 100;
  made.taken = 8;
  return made;
}

TEST_CASE("kernels may wait for each other where each is sure to run") {
  struct Row {
    std::vector<Tenant> tenants;
    std::string obstacle;
  };
  const auto row = GENERATE(values<Row>({
      {{tenant(1, "a"), tenant(1, "b")}, ""},
      {{tenant(1, "a"), tenant(2, "b")}, ""},
      {{tenant(1, "a"), tenant(1, "a")}, "ranks 0 and 1 are of one process and use one device"},
      {{tenant(1, "a", true), tenant(2, "b", true), tenant(1, "a", true)},
       "ranks 0 and 2 are of one process and use one device"},
      {{tenant(1, "a"), tenant(2, "a")},
       "ranks 0 and 1 take turns on one device, as MPS does not run there"},
      {{tenant(1, "a", true), tenant(2, "a", true)}, ""},
      {{tenant(1, "a", true), tenant(2, "a")},
       "ranks 0 and 1 take turns on one device, as MPS does not run there"},
      {{tenant(1, "a", true), tenant(2, "b"), tenant(3, "a", true)}, ""},
  }));
  CHECK(obstacle_of(row.tenants) == row.obstacle);
}

TEST_CASE("communicators take at most half of what a device runs at once") {
  std::vector<Tenant> tenants{tenant(1, "a"), tenant(2, "b")};
  tenants[1].taken = 50;
  CHECK(obstacle_of(tenants).empty());
  tenants[1].taken = 51;
  CHECK(obstacle_of(tenants) ==
        "rank 1: the device runs 100 blocks at once, and with this communicator 51 would wait, "
        "more than half");
  std::vector<Tenant> sharing(7, tenant(0, "a", true));
  for (std::size_t rank = 0; rank < sharing.size(); ++rank) sharing[rank].process = rank;
  CHECK_THAT(obstacle_of(sharing), Catch::Contains("with this communicator 56 would wait"));
  sharing.pop_back();
  CHECK(obstacle_of(sharing).empty());
}

TEST_CASE("a rank's own obstacle is named before all others, and tenants are passed on as text") {
  Tenant lacking;
  lacking.obstacle = "this rondo has no device kernels. Try: nvcc";
  const std::vector<Tenant> tenants{tenant(1, "a"), Tenant(lacking.str())};
  CHECK(obstacle_of(tenants) == "rank 1: this rondo has no device kernels. Try: nvcc");
  const Tenant whole(tenant(~std::uint64_t{0}, "0123abcd", true).str());
  CHECK(whole.process == ~std::uint64_t{0});
  CHECK(whole.device == "0123abcd");
  CHECK(whole.shares);
  CHECK(whole.blocks == 100);
  CHECK(whole.taken == 8);
  CHECK(whole.obstacle.empty());
}

TEST_CASE("room on a device is given back") {
  const Room first("room test", 8);
  CHECK(first.taken() == 8);
  {
    const Room second("room test", 4);
    CHECK(second.taken() == 12);
    CHECK(Room("another", 1).taken() == 1);
  }
  CHECK(Room("room test", 4).taken() == 12);
}

}  // namespace
}  // namespace rondo::resident
