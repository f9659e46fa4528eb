// What the weak memory of the tests lets threads see: in each case exactly the allowed outcomes come
// up within some hundred seeds.
#include "tests/device/weak_memory.h"

#include <array>
#include <set>
#include <string>

#include "kernels/device/fences.h"
#include "tests/catch.h"
#include "tests/device/weak_run.h"

namespace rondo::device::test {
namespace {

struct Words {
  std::uint64_t data = 0;
  std::uint64_t flag = 0;
  std::uint64_t second_flag = 0;
  WordPair pair{};
  bool looked = false;  ///< not in the weak memory
};
/// Two values that a case has loaded.
using Outcome = std::array<std::uint64_t, 2>;

struct Outcomes {
  std::set<Outcome> all{};
  int races = 0;
};

constexpr int seeds = 400;

/// Runs threads(team, number, words, outcome) under many seeds.
template <class Threads>
Outcomes outcomes(std::uint32_t teams, std::uint32_t threads, const Threads& each) {
  Outcomes found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Words words;
    Outcome outcome{};
    const std::string wrong = run_weakly(
        {.seed = seed}, teams, threads,
        [&](HostTeam& team, std::uint32_t number) { each(team, number, words, outcome); });
    if (!wrong.empty()) {
      INFO(wrong);
      REQUIRE(wrong.find("race") == 0);
      ++found.races;
    }
    found.all.insert(outcome);
  }
  return found;
}

using All = std::set<Outcome>;

/// A message: data, then a flag. The outcome is what was seen of the flag and then of the data.
template <class Send, class Receive>
Outcomes message(const Send& send, const Receive& receive) {
  return outcomes(2, 1, [&](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) {
      store_plain(&words.data, std::uint64_t{1});
      send(&words.flag, std::uint64_t{1});
    } else {
      outcome[0] = receive(&words.flag);
      if (outcome[0] != 0) outcome[1] = load_plain(&words.data);
    }
  });
}

constexpr auto release = [](std::uint64_t* word, std::uint64_t value) {
  store_release(word, value);
};
constexpr auto acquire = [](const std::uint64_t* word) { return load_acquire(word); };

TEST_CASE("a release brings what was stored before it, to an acquire") {
  const Outcomes right = message(release, acquire);
  CHECK(right.all == All{{0, 0}, {1, 1}});
  CHECK(right.races == 0);
}

TEST_CASE("a flag that is relaxed on one side brings nothing") {
  for (const Outcomes& found : {message(store_relaxed, acquire), message(release, load_relaxed)}) {
    CHECK(found.all == All{{0, 0}, {1, 0}, {1, 1}});
    CHECK(found.races > 0);
  }
}

TEST_CASE("a store may stay in its thread's buffer while the thread loads") {
  const auto ordered = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    std::uint64_t* const mine = number == 0 ? &words.data : &words.flag;
    store_release(mine, 1);
    outcome[number] = load_acquire(number == 0 ? &words.flag : &words.data);
    CHECK(load_relaxed(mine) == 1);
  };
  CHECK(outcomes(2, 1, ordered).all == All{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
}

/// Data from one thread of team 0 to one of team 1; other threads of the teams pass the flag.
Outcomes through_teams(bool first_meets, bool second_meets) {
  return outcomes(2, 2, [&](HostTeam& team, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) {
      if (team.lane() == 1) store_plain(&words.data, std::uint64_t{1});
      if (first_meets) team.synchronize();
      if (team.lane() == 0) store_release(&words.flag, 1);
      return;
    }
    if (team.lane() == 0) {
      outcome[0] = load_acquire(&words.flag);
      words.looked = true;
    }
    if (second_meets) team.synchronize();
    while (!words.looked) pause();  // which tells the thread when, and brings it nothing
    if (team.lane() == 1 && outcome[0] != 0) outcome[1] = load_plain(&words.data);
  });
}

TEST_CASE("a barrier passes on what threads of a team have stored and acquired") {
  const Outcomes right = through_teams(true, true);
  CHECK(right.all == All{{0, 0}, {1, 1}});
  CHECK(right.races == 0);
  for (const bool first : {false, true}) {
    const Outcomes wrong = through_teams(first, !first);
    CHECK(wrong.all == All{{0, 0}, {1, 0}, {1, 1}});
    CHECK(wrong.races > 0);
  }
}

/// Data to a third thread, by way of a second one.
template <class Forward>
Outcomes forwarded(const Forward& forward) {
  return outcomes(3, 1, [&](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) {
      store_plain(&words.data, std::uint64_t{1});
      store_release(&words.flag, 1);
    } else if (number == 1) {
      while (load_acquire(&words.flag) == 0) pause();
      forward(&words.second_flag, std::uint64_t{1});
    } else {
      outcome[0] = load_acquire(&words.second_flag);
      if (outcome[0] != 0) outcome[1] = load_plain(&words.data);
    }
  });
}

TEST_CASE("a release is cumulative: it brings what its thread had acquired") {
  CHECK(forwarded(release).all == All{{0, 0}, {1, 1}});
  CHECK(forwarded(store_relaxed).all == All{{0, 0}, {1, 0}, {1, 1}});
}

TEST_CASE("a pair tears into its words, a word never tears") {
  const auto pair = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) return store_pair_relaxed(&words.pair, {1, 1});
    const WordPair seen = load_pair_relaxed(&words.pair);
    outcome = {seen.low, seen.high};
  };
  CHECK(outcomes(2, 1, pair).all == All{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  constexpr std::uint64_t whole = (std::uint64_t{1} << 32) + 1;
  const auto word = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) return store_relaxed(&words.data, whole);
    outcome[0] = load_relaxed(&words.data);
  };
  CHECK(outcomes(2, 1, word).all == All{{0, 0}, {whole, 0}});
}

TEST_CASE("nobody sees an older value of a word than he saw before") {
  const auto twice = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) {
      store_relaxed(&words.data, 1);
      return store_relaxed(&words.data, 2);
    }
    for (std::uint64_t& seen : outcome) seen = load_relaxed(&words.data);
  };
  CHECK(outcomes(2, 1, twice).all == All{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
}

TEST_CASE("two stores of relaxed words are seen in any order") {
  const auto other_order = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    if (number == 0) {
      store_relaxed(&words.data, 1);
      return store_relaxed(&words.flag, 1);
    }
    outcome[0] = load_relaxed(&words.flag);
    outcome[1] = load_relaxed(&words.data);
  };
  const Outcomes found = outcomes(2, 1, other_order);
  CHECK(found.all == All{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(found.races == 0);
}

/// A thread loads, another one is told and stores.
template <class Send>
int races_of_store_after_load(const Send& send) {
  return outcomes(2, 1,
                  [&](HostTeam&, std::uint32_t number, Words& words, Outcome&) {
                    if (number == 0) {
                      load_plain(&words.data);
                      return send(&words.flag, std::uint64_t{1});
                    }
                    while (load_acquire(&words.flag) == 0) pause();
                    store_plain(&words.data, std::uint64_t{1});
                  })
      .races;
}

TEST_CASE("a store to what another thread may still load is a race") {
  CHECK(races_of_store_after_load(release) == 0);
  CHECK(races_of_store_after_load(store_relaxed) == seeds);
}

TEST_CASE("neighbours in a word are no race") {
  const auto halves = [](HostTeam& team, std::uint32_t, Words& words, Outcome& outcome) {
    auto* const half = reinterpret_cast<std::uint32_t*>(&words.data) + team.lane();
    store_plain(half, 1 + team.lane());
    team.synchronize();
    outcome[team.lane()] = load_plain(half);
  };
  const Outcomes found = outcomes(1, 2, halves);
  CHECK(found.all == All{{1, 2}});
  CHECK(found.races == 0);
}

TEST_CASE("one of two exchanges wins") {
  const auto both = [](HostTeam&, std::uint32_t number, Words& words, Outcome& outcome) {
    outcome[number] = exchange_if(&words.data, 0, 1) ? 1 : 0;
  };
  CHECK(outcomes(2, 1, both).all == All{{0, 1}, {1, 0}});
}

TEST_CASE("threads that wait for each other for ever are reported") {
  const auto body = [](HostTeam& team, std::uint32_t) {
    if (team.lane() == 0) team.synchronize();
  };
  CHECK(run_weakly({}, 1, 2, body) == "threads wait for each other for ever");
}

TEST_CASE("what a thread of a simulation throws ends it") {
  const auto body = [](HostTeam&, std::uint32_t number) {
    if (number == 1) throw number;
  };
  CHECK_THROWS_AS(run_weakly({}, 3, 1, body), std::uint32_t);
}

}  // namespace
}  // namespace rondo::device::test
