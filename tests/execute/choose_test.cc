// Which algorithm carries a call's messages, on either side of where it changes.
#include "core/plan/choose.h"

#include <string>

#include "core/plan/sizes.h"
#include "core/topology/generate.h"
#include "tests/catch.h"

namespace rondo {
namespace {

std::string all_reduce_over_loopback(int ranks, std::size_t bytes) {
  const Topology around{.ranks = ranks, .links = LinkClass::network, .one_machine = true};
  return choose(Collective::all_reduce, bytes, around, {}).algorithm.name();
}

TEST_CASE("hosts with several ranks have an algorithm inside and one across") {
  const auto chosen = [](const Topology& around, std::string_view allowed) {
    const AlgorithmSelection selection(allowed, "the algorithm");
    return choose(Collective::all_reduce, MiB, around, selection).algorithm.name();
  };
  const Topology two = on_hosts({3, 2}, Numbering::by_host);
  CHECK(chosen(two, "") == "hierarchical(one_shot,ring)");
  CHECK(chosen(two, "hierarchical") == "hierarchical(one_shot,ring)");
  CHECK(chosen(two, "hierarchical(chain,one_shot)") == "hierarchical(chain,one_shot)");
  CHECK(chosen(two, "^hierarchical") == "ring");
  CHECK(chosen(two, "^hierarchical(one_shot,ring)") != "hierarchical(one_shot,ring)");
  CHECK(chosen(two, "ring") == "ring");
  CHECK(chosen(on_hosts({1, 1, 1}, Numbering::by_host), "") == "ring");
  CHECK_THROWS_WITH(AlgorithmSelection("hierarchical(ring,nope)", "RONDO_ALGORITHM"),
                    Catch::Contains("'hierarchical(ring,nope)' is not a known name"));
  CHECK_THROWS_WITH(AlgorithmSelection("all_reduce:hierarchical(ring,chain", "RONDO_ALGORITHM"),
                    Catch::Contains("is not a known name"));
}

TEST_CASE("between hosts with several ranks a forced algorithm carries lopsided blocks, too") {
  CallSize size(MiB);
  size.largest_block = MiB;
  const Topology two = on_hosts({3, 2}, Numbering::by_host);
  const AlgorithmSelection forced("one_shot", "the algorithm");
  CHECK(choose(Collective::all_gather, size, two, forced).algorithm.name() == "one_shot");
  CHECK(choose(Collective::all_gather, size, two, {}).algorithm.across->name != "one_shot");
}

TEST_CASE("faster ports and more hosts make few rounds pay for longer calls") {
  const auto chosen = [](int hosts, double beta, std::size_t bytes) {
    Topology around =
        on_hosts(std::vector<int>(static_cast<std::size_t>(hosts), 4), Numbering::by_host);
    around.hosts.assign(static_cast<std::size_t>(hosts), {.ports = {{.beta = beta}}});
    return std::string(choose(Collective::all_reduce, bytes, around, {}).algorithm.across->name);
  };
  /// The least size from which this algorithm is no longer the choice.
  const auto border = [&](int hosts, double beta, std::string_view algorithm) {
    std::size_t bytes = 8;
    while (bytes < 64 * MiB && chosen(hosts, beta, bytes) == algorithm) bytes *= 2;
    return bytes;
  };
  const double slow = 4e-8;
  const double fast = 8e-11;
  for (const int hosts : {4, 8, 64})
    CHECK(border(hosts, slow, "recursive_doubling") < border(hosts, fast, "recursive_doubling"));
  CHECK(chosen(8, slow, 16 * MiB) == "ring");
  CHECK(chosen(512, slow, MiB) == "circulant");
}

/// A schedule of a user's: `lines` say what it is for.
Scripts written(const std::string& lines) {
  return parse_scripts(
      {{"mine", "collective all_reduce\nalgorithm mine\n" + lines + "\nrank r\n"}});
}

TEST_CASE("a schedule of the user's serves the calls that it is for") {
  const auto chosen = [](const std::string& lines, std::string_view allowed, std::size_t bytes,
                         const Topology& around, const std::string& rank_order = {}) {
    return choose(Collective::all_reduce, bytes, around,
                  AlgorithmSelection(allowed, "the algorithm", written(lines)), rank_order);
  };
  const Topology four{.ranks = 4, .one_machine = true, .direct = true};
  const Topology two{.ranks = 2, .one_machine = true, .direct = true};
  const Choice own = chosen("ranks 4..", "", 8, four);
  CHECK(own.algorithm.name() == "mine");
  CHECK(own.reason == "written in mine");
  CHECK(own.shared);  // where it can be merged
  CHECK_FALSE(chosen("ranks 4..", "^direct", 8, four).shared);
  CHECK(chosen("ranks 4..", "^direct", 8, four).algorithm.name() == "mine");
  CHECK_FALSE(chosen("ranks 4..", "", 8, on_hosts({2, 2}, Numbering::by_host)).shared);
  CHECK(chosen("ranks 4..", "", 8, two).algorithm.name() != "mine");
  CHECK(chosen("ranks 2..\nwhen H == 2", "", 8, on_hosts({2, 2}, Numbering::by_host))
            .algorithm.name() == "mine");
  CHECK(chosen("ranks 2..\nwhen H == 2", "", 8, four).algorithm.name() != "mine");
  CHECK(chosen("ranks 4..\nsizes 1K..", "", 8, four).algorithm.name() != "mine");
  CHECK(chosen("ranks 4..\nsizes 1K..", "mine", 8, four).algorithm.name() == "mine");
  CHECK(chosen("ranks 4..\nsizes 1K..", "all_reduce:mine,ring", 8, four).algorithm.name() ==
        "mine");
  CHECK(chosen("ranks 4..", "^mine", 8, four).algorithm.name() != "mine");
  CHECK(chosen("ranks 4..", "ring", 8, four).algorithm.name() == "ring");
  CHECK(chosen("ranks 4..", "mine,ring", 8, two).algorithm.name() == "ring");
  // Which order it adds in is not looked at.
  CHECK(chosen("ranks 4..", "", 8, four, "reproducible").algorithm.name() != "mine");
  CHECK_THROWS_WITH(chosen("ranks 4..", "mine", 8, four, "reproducible"),
                    Catch::Contains("leaves none for this all_reduce, which is reproducible"));
  CHECK_THROWS_WITH(chosen("ranks 4..", "mine", 8, two),
                    Catch::Contains("mine is for 4 or more ranks, not 2"));
  CHECK_THROWS_WITH(chosen("ranks 4..", "all_gather:mine", 8, two),
                    Catch::Contains("'mine' is not a known name"));
}

TEST_CASE("a schedule that cannot serve calls is refused") {
  const auto texts = [](const std::string& text) {
    return std::vector<ScheduleText>{{"mine", text + "\nranks 4\nrank 0\n"}};
  };
  CHECK_THROWS_WITH(parse_scripts(texts("collective all_reduce")),
                    Catch::Contains("mine does not name its algorithm"));
  CHECK_THROWS_WITH(parse_scripts(texts("collective all_reduce\nalgorithm ring")),
                    Catch::Contains("mine has the name of a built-in algorithm, ring"));
  CHECK_THROWS_WITH(parse_scripts(texts("collective all_reduce\nalgorithm direct")),
                    Catch::Contains("built-in algorithm, direct"));
  CHECK_THROWS_WITH(parse_scripts(texts("collective all_reduce\nalgorithm a,b")),
                    Catch::Contains("use letters, digits and underscores"));
  CHECK_THROWS_WITH(parse_scripts(texts("collective reduce\nalgorithm a")),
                    Catch::Contains("mine is for one root only"));
  CHECK(parse_scripts(texts("collective reduce\nroot any\nalgorithm a")).size() == 1);
}

TEST_CASE("with more hosts than were measured, predicted times decide") {
  const auto choice = [](Collective collective, int hosts, std::size_t bytes) {
    return choose(
        collective, bytes,
        on_hosts(std::vector<int>(static_cast<std::size_t>(hosts), 1), Numbering::by_host), {});
  };
  CHECK(choice(Collective::all_reduce, 8, MiB).reason != "least predicted time");
  CHECK(choice(Collective::all_reduce, 9, MiB).reason == "least predicted time");
  // The table's last rows would take pairwise and chain: 10 and 4 times the predicted time of these.
  CHECK(choice(Collective::all_to_all, 64, 64).algorithm.name() == "bruck");
  CHECK(choice(Collective::broadcast, 64, 64 * KiB).algorithm.name() == "double_tree");
  CHECK(choice(Collective::gather, 64, 64).reason != "least predicted time");
}

TEST_CASE("over one machine's sockets the tree is taken up to the size measured for the ranks") {
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

TEST_CASE("one_shot is for blocks of about the same size") {
  const Topology around{.ranks = 5};
  const auto chosen = [&](Collective collective, std::size_t bytes, std::size_t largest) {
    CallSize size(bytes);
    size.largest_block = largest;
    return choose(collective, size, around, {}).algorithm.name();
  };
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    CHECK(chosen(collective, 1 * MiB, 0) == "one_shot");
    CHECK(chosen(collective, 1 * MiB, 512 * KiB) == "one_shot");  // twice the others' mean
    CHECK(chosen(collective, 1 * MiB, 512 * KiB + 1) == "ring");
    CHECK(chosen(collective, 64 * KiB, 64 * KiB) == "one_shot");  // messages decide
  }
  const Topology two{.ranks = 2};
  CallSize all_of_one(1 * MiB);
  all_of_one.largest_block = 1 * MiB;
  CHECK(choose(Collective::all_gather, all_of_one, two, {}).algorithm.name() == "one_shot");
}

TEST_CASE("in shared memory, too, a block is reduced by the one rank that it is for") {
  const Topology around{.ranks = 8, .one_machine = true, .direct = true};
  CallSize size(600 * KiB);
  CHECK(choose(Collective::reduce_scatter, size, around, {}).shared);
  size.largest_block = 500 * KiB;
  CHECK_FALSE(choose(Collective::reduce_scatter, size, around, {}).shared);
  CHECK(choose(Collective::all_gather, size, around, {}).shared);
}

TEST_CASE("calls that must add in rank order take only rows that do, whatever the size") {
  for (const CollectiveInfo& row : collectives) {
    if (!row.reduces) continue;
    for (const LinkClass links : {LinkClass::memory, LinkClass::network}) {
      for (const int ranks : {1, 2, 3, 4, 8, 9, 200}) {
        for (std::size_t bytes = 1; bytes < 256 * MiB; bytes *= 3) {
          const Topology around{.ranks = ranks, .links = links, .one_machine = ranks < 9};
          CAPTURE(row.name, ranks, bytes);
          const Choice choice = choose(row.collective, bytes, around, {}, "so: in order");
          CHECK(choice.algorithm.rank_order());
          CHECK(choice.reason.ends_with("; so: in order"));
        }
      }
    }
  }
}

TEST_CASE(
    "a forced direct path serves one rank, too, and is refused where memory is out of reach") {
  const AlgorithmSelection direct("direct", "a test");
  for (const CollectiveInfo& row : collectives) {
    if (row.collective == Collective::send_recv) continue;
    CHECK(choose(row.collective, 1000, {.ranks = 1}, direct).algorithm);
    CHECK_THROWS_WITH(choose(row.collective, 1000, {.ranks = 2}, direct),
                      Catch::Contains("needs all ranks on one machine"));
  }
}

TEST_CASE("a selection without such a row is refused with those that there are") {
  const AlgorithmSelection ring("ring", "a test");
  CHECK_THROWS_WITH(
      choose(Collective::reduce, 64, {.ranks = 4}, ring, "so: in order"),
      Catch::Contains("which is so: in order") && Catch::Contains("two_shot, one_shot, direct"));
  const AlgorithmSelection all_but("^two_shot", "a test");
  CHECK(choose(Collective::reduce, MiB, {.ranks = 4}, all_but, "so: in order").algorithm.name() ==
        "one_shot");
}

}  // namespace
}  // namespace rondo
