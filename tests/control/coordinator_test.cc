// When the other ranks hear of a rank that died, by a clock that the test sets.
#include "core/control/coordinator.h"

#include "core/control/times.h"
#include "tests/catch.h"

namespace rondo::control {
namespace {

constexpr std::uint64_t channel = 7;

/// A coordinator of three ranks with one communicator, and the failures that it has sent.
struct Job {
  Job() {
    for (int rank = 0; rank < 3; ++rank)
      coordinator.receive(rank, Open{.communicator = channel, .members = all}, now);
  }
  std::vector<int> told{};                           ///< the ranks that were told of a failure
  std::string why{};                                 ///< the words of the last one
  std::vector<std::pair<int, Departed>> heard{};     ///< ranks, and which departures each heard of
  std::vector<std::vector<std::string>> all_said{};  ///< in exchanges of all
  const std::vector<std::int32_t> all{0, 1, 2};
  Coordinator::Clock::time_point now{};
  Coordinator coordinator{std::vector<HostInfo>(3),
                          [this](std::span<const int> ranks, const Message& message) {
                            for (const int rank : ranks) hear(rank, message);
                          }};

 private:
  void hear(int rank, const Message& message) {
    if (const auto* failure = std::get_if<Failure>(&message)) {
      told.push_back(rank);
      why = failure->message;
    }
    const auto* const blobs = std::get_if<Blobs>(&message);
    if (blobs != nullptr && rank == 0) all_said.push_back(blobs->bytes);
    if (const auto* departed = std::get_if<Departed>(&message)) heard.emplace_back(rank, *departed);
  }
};

TEST_CASE("a death is told after the grace") {
  Job job;
  job.coordinator.died(1, job.now);
  CHECK(job.told.empty());
  REQUIRE(job.coordinator.next_tick());
  CHECK(*job.coordinator.next_tick() == job.now + times::grace);
  job.coordinator.tick(job.now + times::grace / 2);
  CHECK(job.told.empty());
  job.coordinator.tick(job.now + times::grace);
  CHECK(job.told == std::vector<int>{0, 2});
  CHECK_FALSE(job.coordinator.next_tick());
}

TEST_CASE("a death is told at once where somebody waits, before it or after") {
  for (const bool before : {false, true}) {
    for (const Message& waits : {Message(Stall{.communicator = channel, .from = 1, .to = 1}),
                                 Message(Blob{.communicator = channel, .of_all = 1})}) {
      Job job;
      if (before) job.coordinator.receive(0, waits, job.now);
      job.coordinator.died(1, job.now);
      if (!before) job.coordinator.receive(0, waits, job.now);
      CHECK(job.told == std::vector<int>{0, 2});
      CHECK_FALSE(job.coordinator.next_tick());
    }
  }
}

TEST_CASE("who is behind in a chain of receives, as far as its ranks say so still") {
  for (const bool still : {true, false}) {
    Job job;
    const auto answer = [&](std::uint64_t diagnosis) {
      for (int rank = 0; rank < 3; ++rank)
        job.coordinator.receive(rank, Answer{.communicator = channel, .diagnosis = diagnosis},
                                job.now);
    };
    job.coordinator.receive(2, Stall{.communicator = channel, .peer = 1, .what = "a recv"},
                            job.now);
    answer(1);
    CHECK(job.told.empty());
    job.now += still ? times::of_stall : times::of_stall + std::chrono::milliseconds(1);
    job.coordinator.receive(
        0, Stall{.communicator = channel, .peer = 2, .what = "a recv", .expired = 1}, job.now);
    answer(2);
    CHECK(job.told == std::vector<int>{0, 1, 2});
    CHECK((job.why.find("waits in a recv for rank 1") != std::string::npos) == still);
  }
}

TEST_CASE("a death is not told to ranks that have left, but to one that then opens a channel") {
  Job job;
  job.coordinator.died(1, job.now);
  job.coordinator.receive(0, Leave{.communicator = channel}, job.now);
  job.coordinator.receive(2, Leave{.communicator = channel}, job.now);
  CHECK(job.told.empty());
  CHECK_FALSE(job.coordinator.next_tick());
  job.coordinator.receive(0, Open{.communicator = channel + 1, .members = job.all}, job.now);
  CHECK(job.told == std::vector<int>{0});
}

TEST_CASE("when the coordinator goes, the others hear which ranks left, and with which calls") {
  Job job;
  const auto leave = [&](int rank, std::uint64_t begun) {
    CallReport report{.begun = begun, .completed = begun};
    for (std::uint64_t i = 1; i <= begun; ++i) report.calls.push_back({.sequence = i});
    job.coordinator.receive(rank, Leave{.communicator = channel, .report = report}, job.now);
  };
  job.coordinator.tell_of_departed();
  CHECK(job.heard.empty());
  leave(0, 5);
  leave(2, 3);
  job.coordinator.tell_of_departed();
  REQUIRE(job.heard.size() == 1);
  const auto& [rank, departed] = job.heard.front();
  CHECK(rank == 1);
  CHECK(departed.communicator == channel);
  CHECK(departed.ranks == std::vector<std::int32_t>{0, 2});
  REQUIRE(departed.reports.size() == 2);
  for (const std::size_t i : {0U, 1U}) {
    const std::uint64_t begun = i == 0 ? 5 : 3;
    CHECK(departed.reports[i].begun == begun);
    REQUIRE(departed.reports[i].calls.size() == 1);
    CHECK(departed.reports[i].calls.front().sequence == begun);
  }
}

TEST_CASE("the next coordinator knows from the others who left before, and with which calls") {
  Job job;
  job.coordinator.receive(0, Bye{}, job.now);
  job.told.clear();
  const auto again = [&](int rank, std::uint64_t begun) {
    job.coordinator.receive(rank, Open{channel + 1, job.all, 2}, job.now);
    job.coordinator.receive(
        rank, Departed{.communicator = channel + 1, .ranks = {0}, .reports = {{.begun = begun}}},
        job.now);
    job.coordinator.receive(rank, Told{}, job.now);
  };
  const std::uint64_t begun = GENERATE(3U, 4U);
  again(1, begun);
  again(2, begun);
  CHECK(job.told.empty());  // that one has ended is no fault
  job.coordinator.receive(1, Stall{.communicator = channel + 1, .from = 4, .to = 4}, job.now);
  for (const int rank : {1, 2})
    job.coordinator.receive(
        rank, Answer{.communicator = channel + 1, .diagnosis = 1, .report = {.begun = 4}}, job.now);
  CHECK(job.told == (begun == 3 ? std::vector<int>{1, 2} : std::vector<int>{}));
}

TEST_CASE(
    "an exchange of all counts what a rank says twice once, as after a change of coordinators") {
  Job job;
  const auto speak = [&](int rank, std::uint64_t exchange) {
    job.coordinator.receive(
        rank, Blob{.communicator = channel, .of_all = exchange, .bytes = std::to_string(exchange)},
        job.now);
  };
  for (const int rank : {0, 1, 1, 2, 2}) speak(rank, 1);
  for (const int rank : {1, 1, 2, 0}) speak(rank, 2);
  REQUIRE(job.all_said.size() == 2);
  CHECK(job.all_said[0] == std::vector<std::string>{"1", "1", "1"});
  CHECK(job.all_said[1] == std::vector<std::string>{"2", "2", "2"});
}

TEST_CASE("who opens a channel only after a coordinator has ended in order had not left it") {
  Job job;
  const auto open = [&](int rank, std::uint8_t again) {
    job.coordinator.receive(rank, Open{channel + 1, job.all, again}, job.now);
  };
  const auto speak = [&](int rank) {
    job.coordinator.receive(rank, Blob{.communicator = channel + 1, .of_all = 1}, job.now);
  };
  for (const int rank : {0, 1}) open(rank, 2);
  for (const int rank : {0, 1, 2}) job.coordinator.receive(rank, Told{}, job.now);
  for (const int rank : {0, 1}) speak(rank);
  CHECK(job.told.empty());
  open(2, 0);
  speak(2);
  CHECK(job.all_said.size() == 1);
}

TEST_CASE("a coordinator that goes says who has ended in order, and who has died for certain") {
  Job job;
  job.coordinator.receive(0, Bye{}, job.now);
  job.coordinator.died(1, job.now);
  job.coordinator.died(2, job.now, "nobody knows");
  const Closing closing = job.coordinator.closing();
  CHECK(closing.left == std::vector<std::int32_t>{0});
  CHECK(closing.dead == std::vector<std::int32_t>{1});
}

TEST_CASE(
    "when the coordinator goes, a death that was not told yet is told, but not as a leaving") {
  Job job;
  job.coordinator.died(1, job.now);
  job.coordinator.tell_of_departed();
  CHECK(job.told == std::vector<int>{0, 2});
  CHECK(job.heard.empty());
}

}  // namespace
}  // namespace rondo::control
