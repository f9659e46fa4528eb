// Which algorithm carries a call's messages, on either side of where it changes.
#include "core/plan/choose.h"

#include <string>

#include "core/plan/sizes.h"
#include "tests/catch.h"

namespace rondo {
namespace {

std::string all_reduce_over_loopback(int ranks, std::size_t bytes) {
  const Surroundings around{.ranks = ranks, .links = LinkClass::network, .one_machine = true};
  return std::string(choose(Collective::all_reduce, bytes, around, {}).algorithm->name);
}

TEST_CASE("over sockets of one machine the tree goes as far as each number of ranks has measured") {
  struct Border {
    int ranks;
    std::size_t bytes;
  };
  const auto border =
      GENERATE(values<Border>({{3, 512 * KiB}, {4, 2 * MiB}, {5, 1 * MiB}, {8, 1 * MiB}}));
  CAPTURE(border.ranks, border.bytes);
  CHECK(all_reduce_over_loopback(border.ranks, border.bytes) == "binomial_tree");
  CHECK(all_reduce_over_loopback(border.ranks, border.bytes + 1) == "ring");
}

}  // namespace
}  // namespace rondo
