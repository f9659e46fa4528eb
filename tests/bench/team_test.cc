// What rondo_floor runs on: processes, or threads, that meet.
#include "bench/floor/team.h"

#include <cstdint>
#include <stdexcept>

#include "tests/catch.h"

using namespace rondo::bench;

namespace {

/// Fails on one member. The others wait in vain, and are ended.
void fail_one(Member& member) {
  if (member.rank() == 1) throw std::runtime_error("as this test wants");
  member.meet();
}

}  // namespace

TEST_CASE("a team meets, agrees, and ends when one member fails") {
  SharedMemory memory(sizeof(double));
  auto* const most = reinterpret_cast<double*>(memory.data());
  const auto run = GENERATE(&run_team, &run_threads);
  const bool shares_cores = allowed_cores() < 3;
  run(3, [&](Member& member) {
    if (member.shares_cores() != shares_cores)
      throw std::runtime_error("bound to one, it sees one");
    if (member.agree(static_cast<std::uint64_t>(member.rank() + 7)) != 7)
      throw std::runtime_error("the members disagree");
    const double largest = member.largest(member.rank());
    if (member.rank() == 1) *most = largest;
  });
  CHECK(*most == 2);
  // Threads that fail end their process, so that process is a team's member here.
  CHECK_THROWS_AS(run_team(1, [](Member&) { run_threads(2, fail_one); }), std::runtime_error);
  CHECK_THROWS_AS(run_team(2, fail_one), std::runtime_error);
  CHECK_THROWS_AS(run(0, [](Member&) {}), std::invalid_argument);
}
