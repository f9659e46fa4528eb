// Exchanges among the living, against every order of words and deaths, and with a coordinator that
// is lost at any moment.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "core/control/coordinator.h"
#include "tests/catch.h"

namespace rondo::control {
namespace {

constexpr int ranks = 4;
constexpr std::uint64_t number = 7;
const std::vector<std::int32_t> everyone{0, 1, 2, 3};

std::string word_of(int rank) { return "word of " + std::to_string(rank); }

/// What the ranks have heard. Deliveries stop after `most`, as where the coordinator dies.
struct Ranks {
  explicit Ranks(std::size_t most = 1000) : left(most) {}

  std::size_t left;
  std::map<int, std::vector<Blobs>> heard{};

  void deliver(std::span<const int> to, const Message& message) {
    const auto* blobs = std::get_if<Blobs>(&message);
    if (blobs == nullptr) return;
    for (const int rank : to)
      if (left > 0) --left, heard[rank].push_back(*blobs);
  }
};

/// One coordinator and its clock.
struct Speakers {
  explicit Speakers(Ranks& world)
      : coordinator(
            std::vector<HostInfo>(ranks),
            [&](std::span<const int> to, const Message& message) { world.deliver(to, message); }) {}
  void open(int rank) { say(rank, Open{.communicator = number, .members = everyone}); }
  void say(int rank, const Message& message) { coordinator.receive(rank, message, now); }
  void speak(int rank, std::uint64_t round = 1) {
    say(rank, Blob{.communicator = number, .round = round, .bytes = word_of(rank)});
  }

  Coordinator::Clock::time_point now{};
  Coordinator coordinator;
};

bool dies(unsigned victims, int rank) { return (victims >> rank & 1U) != 0; }

/// The word of each rank that lives, and the others as missing.
void check(const Blobs& heard, unsigned victims) {
  REQUIRE(heard.bytes.size() == ranks);
  std::vector<std::int32_t> missing;
  for (int rank = 0; rank < ranks; ++rank) {
    if (dies(victims, rank)) missing.push_back(rank);
    CHECK(heard.bytes[static_cast<std::size_t>(rank)] ==
          (dies(victims, rank) ? "" : word_of(rank)));
  }
  CHECK(heard.missing == missing);
}

TEST_CASE("in every order of words and deaths, the living hear the same, and all of it") {
  for (unsigned victims = 0; victims < (1U << ranks) - 1; ++victims) {
    std::array<int, ranks> order{};
    std::iota(order.begin(), order.end(), 0);
    do {
      Ranks world;
      Speakers job(world);
      for (int rank = 0; rank < ranks; ++rank) job.open(rank);
      for (const int rank : order)
        dies(victims, rank) ? job.coordinator.died(rank, job.now) : job.speak(rank);
      for (int rank = 0; rank < ranks; ++rank) {
        REQUIRE(world.heard[rank].size() == (dies(victims, rank) ? 0U : 1U));
        if (!dies(victims, rank)) check(world.heard[rank].front(), victims);
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

// The coordinator is lost when `delivered` ranks have heard what it decided. The others must hear
// the same from the next one, whatever has happened meanwhile.
TEST_CASE("what a lost coordinator has decided holds for those that had not heard it yet") {
  for (const std::size_t delivered : {1U, 2U, 3U}) {
    for (int next = 0; next < ranks; ++next) {  // the rank that comes first to the new one
      Ranks first(delivered);
      Speakers before(first);
      for (int rank = 0; rank < ranks; ++rank) before.open(rank);
      before.coordinator.died(3, before.now);
      for (int rank = 0; rank < 3; ++rank) before.speak(rank);
      Ranks second;
      Speakers after(second);
      after.coordinator.died(3, after.now);
      for (int turn = 0; turn < 3; ++turn) {
        const int rank = (next + turn) % 3;
        after.open(rank);
        const std::vector<Blobs>& known = first.heard[rank];
        known.empty() ? after.speak(rank) : after.say(rank, known.back());
      }
      for (int rank = 0; rank < 3; ++rank) {
        const std::vector<Blobs>& known = first.heard[rank];
        REQUIRE(known.size() + second.heard[rank].size() == 1);
        check(known.empty() ? second.heard[rank].front() : known.front(), 1U << 3);
      }
      // And the next exchange is one of its own.
      for (int rank = 0; rank < 3; ++rank) after.speak(rank, 2);
      for (int rank = 0; rank < 3; ++rank) {
        REQUIRE_FALSE(second.heard[rank].empty());
        CHECK(second.heard[rank].back().round == 2);
      }
    }
  }
}

TEST_CASE("a word that is said twice, as after a change of coordinators, counts once") {
  Ranks world;
  Speakers job(world);
  for (int rank = 0; rank < ranks; ++rank) job.open(rank);
  for (int rank = 0; rank < ranks; ++rank) job.speak(rank);
  job.speak(1);  // it is answered again, and begins no exchange
  CHECK(world.heard[1].size() == 2);
  CHECK(world.heard[1].back().round == 1);
  job.speak(0, 2);
  CHECK(world.heard[0].size() == 1);
}

TEST_CASE("the ranks go on without one that is late, which hears that") {
  Ranks world;
  Speakers job(world);
  for (int rank = 0; rank < ranks; ++rank) job.open(rank);
  for (const int rank : {0, 1, 3}) job.speak(rank);
  job.say(0, ExchangeExpired{.communicator = number, .milliseconds = 10});
  REQUIRE(world.heard[3].size() == 1);
  check(world.heard[3].front(), 1U << 2);
  job.speak(2);
  REQUIRE(world.heard[2].size() == 1);
  check(world.heard[2].front(), 1U << 2);
  job.speak(2, 2);
  REQUIRE(world.heard[2].size() == 2);
  CHECK(world.heard[2].back().missing == std::vector<std::int32_t>{2});
}

// Every way to cut a world of six ranks into two parts, of which some ranks are known to be dead.
TEST_CASE("of two parts of a world one goes on, and never both") {
  constexpr int all = 6;
  for (unsigned living = 1; living < 1U << all; ++living) {
    for (unsigned part = 0; part < 1U << all; ++part) {
      if ((part & ~living) != 0) continue;
      std::vector<int> may_live;
      std::vector<int> one;
      std::vector<int> other;
      for (int rank = 0; rank < all; ++rank) {
        if ((living >> rank & 1U) == 0) continue;
        may_live.push_back(rank);
        ((part >> rank & 1U) != 0 ? one : other).push_back(rank);
      }
      CHECK(obstacle_to_going_on(one, may_live).empty() !=
            obstacle_to_going_on(other, may_live).empty());
    }
  }
}

TEST_CASE("a late rank hears that the others went on, also after they have left") {
  Ranks world;
  Speakers job(world);
  for (int rank = 0; rank < ranks; ++rank) job.open(rank);
  for (const int rank : {0, 1, 3}) job.speak(rank);
  job.say(0, ExchangeExpired{.communicator = number, .milliseconds = 10});
  for (const int rank : {0, 1, 3}) job.say(rank, Leave{.communicator = number});
  job.speak(2);
  REQUIRE(world.heard[2].size() == 1);
  check(world.heard[2].front(), 1U << 2);
}

TEST_CASE("whom the others went on without stays out under a new coordinator, and hears it") {
  Ranks world;
  Speakers job(world);
  const auto again = Open{.communicator = number, .members = everyone, .again = 1};
  for (const int rank : {0, 1, 2}) {
    job.say(rank, again);
    job.say(rank, Blobs{.communicator = number,
                        .round = 1,
                        .bytes = {word_of(0), word_of(1), word_of(2), ""},
                        .missing = {3}});
    job.say(rank, Told{});
  }
  job.say(3, again);
  job.say(3, Told{});
  for (const int rank : {0, 1, 2}) job.speak(rank, 2);
  for (const int rank : {0, 1, 2}) {
    REQUIRE(world.heard[rank].size() == 1);
    check(world.heard[rank].front(), 1U << 3);
  }
  job.speak(3, 3);
  REQUIRE(world.heard[3].size() == 1);
  CHECK(world.heard[3].front().missing == std::vector<std::int32_t>{3});
}

// Each of them waited for so long that it tells a new coordinator at once.
TEST_CASE("nobody is late before all have told a new coordinator what they wait for") {
  Ranks world;
  Speakers job(world);
  job.coordinator.died(0, job.now);
  for (const int rank : {1, 2, 3}) {
    CHECK(world.heard[1].empty());
    job.say(rank, Open{.communicator = number, .members = everyone, .again = 1});
    if (rank != 3) job.speak(rank);  // 3 computes
    if (rank != 3) job.say(rank, ExchangeExpired{.communicator = number, .milliseconds = 8});
    job.say(rank, Told{});
  }
  for (const int rank : {1, 2}) {
    REQUIRE(world.heard[rank].size() == 1);
    check(world.heard[rank].front(), 1U << 0 | 1U << 3);
    CHECK(world.heard[rank].front().refusal.empty());
  }
}

TEST_CASE("ranks that left a communicator before the coordinator was lost are not waited for") {
  for (const bool told_first : {false, true}) {
    Ranks world;
    Speakers job(world);
    const auto tell = [&](int rank, bool has_it) {
      if (has_it) job.say(rank, Open{.communicator = number, .members = everyone, .again = 1});
      job.say(rank, Told{});
    };
    if (told_first) tell(1, false);
    for (const int rank : {0, 2, 3}) {
      tell(rank, true);
      job.speak(rank);
    }
    if (!told_first) {
      CHECK(world.heard[0].empty());
      tell(1, false);
    }
    for (const int rank : {0, 2, 3}) {
      REQUIRE(world.heard[rank].size() == 1);
      check(world.heard[rank].front(), 1U << 1);
    }
    // A communicator that is made afterwards waits for all.
    const auto later = number + 1;
    for (int rank = 0; rank < ranks; ++rank)
      job.say(rank, Open{.communicator = later, .members = everyone});
    for (int rank = 1; rank < ranks; ++rank) job.say(rank, Blob{.communicator = later, .round = 1});
    CHECK(world.heard[1].size() == (0U));
  }
}

TEST_CASE("a coordinator that lost most ranks by a broken path must not go on, nor by lateness") {
  for (const bool late : {false, true}) {
    Ranks world;
    Speakers job(world);
    for (int rank = 0; rank < ranks; ++rank) job.open(rank);
    for (const int rank : {1, 2, 3})
      if (!late) job.coordinator.died(rank, job.now, "No route to host");
    job.speak(0);
    if (late) job.say(0, ExchangeExpired{.communicator = number, .milliseconds = 10});
    REQUIRE(world.heard[0].size() == 1);
    CHECK(world.heard[0].front().refusal.starts_with("only 1 of 4 ranks that may live have come"));
  }
}

}  // namespace
}  // namespace rondo::control
