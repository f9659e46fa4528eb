// Processes join a training that runs, and those that do not come do no harm.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <optional>

#include "tests/catch.h"
#include "tests/support/files.h"
#include "tests/support/setting.h"
#include "tests/trainer/elastic_rig.h"
#include "tools/trainer/elastic/meeting.h"
#include "tools/trainer/session.h"

namespace {

using namespace rondo;
using test::elastic_options;
using test::expect_that;
using test::losses_alone;
using test::must_be;

std::uint64_t print_of(const train::Options& options) {
  return train::print_of(options, train::text_of(options).fingerprint());
}

/// How many files of joining are in the folder.
std::size_t files_of_joining(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().filename().string().starts_with("join-") ? 1 : 0;
  return count;
}

void wait_for_requests(const std::string& folder, std::size_t count) {
  while (!std::filesystem::exists(folder) || files_of_joining(folder) < count)
    std::this_thread::yield();
}

/// Trains on `ranks` threads, which begin when `requests` processes ask, and on `joiners` more. What
/// rank 0 says.
std::string trained(const train::Options& options, int ranks, int joiners, std::size_t requests,
                    const std::vector<test::Loss>& expected) {
  std::vector<Communicator> worlds = Communicator::from_threads(ranks);
  std::vector<std::ostringstream> outs(static_cast<std::size_t>(ranks + joiners));
  test::on_all_ranks(ranks + joiners, [&](int thread) {
    auto own = options;
    own.join = thread >= ranks;
    Communicator joined;
    if (!own.join) wait_for_requests(options.checkpoint.folder, requests);
    Communicator& world = own.join ? joined : worlds[static_cast<std::size_t>(thread)];
    must_be(train::run(own, world, outs[static_cast<std::size_t>(thread)]), expected);
    expect_that(world.size() == ranks + joiners,
                "all are in it: " + outs[static_cast<std::size_t>(thread)].str());
    world.finalize();
  });
  return outs[0].str();
}

TEST_CASE("ranks that join do not change the losses, and leave no files") {
  const auto expected = losses_alone();
  const auto [ranks, joiners] = GENERATE(std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2});
  for (const auto& strategy : train::strategies()) {
    const test::TemporaryFolder scratch;
    const auto options = elastic_options(std::string(strategy.name), scratch / "shared", 50);
    const std::string said =
        trained(options, ranks, joiners, static_cast<std::size_t>(joiners), expected);
    INFO(strategy.name << "\n" << said);
    CHECK_THAT(said, Catch::Contains("a rank joined (process "));
    CHECK_THAT(said, Catch::Contains(std::to_string(ranks + joiners) + " ranks go on from step "));
    CHECK(files_of_joining(scratch / "shared") == 0);
  }
}

TEST_CASE("who asks and does not come, or comes and dies at once, is left behind") {
  const auto expected = losses_alone();
  const bool comes = GENERATE(false, true);
  std::optional<test::Setting> patience;
  if (!comes) patience.emplace("RONDO_BOOTSTRAP_TIMEOUT", "0.5");
  for (const auto& strategy : train::strategies()) {
    const test::TemporaryFolder scratch;
    const auto options = elastic_options(std::string(strategy.name), scratch / "shared", 50);
    std::string said;
    std::ptrdiff_t left = -1;
    std::promise<void> over;  // also by an exception
    const std::future<void> end = over.get_future();
    test::on_all_ranks(2, [&](int thread) {
      if (thread == 0) {
        const std::promise<void> ending = std::move(over);
        said = trained(options, 3, 0, 1, expected);
        left = files_of_joining(scratch / "shared");  // while who asked is still there
        return;
      }
      train::Request request(scratch / "shared", print_of(options));
      if (!comes) return end.wait();
      const auto ticket = request.wait(std::chrono::seconds(60));
      Communicator::from_unique_id(ticket.id, ticket.rank, ticket.ranks);
    });
    INFO(said);
    CHECK_THAT(said, Catch::Contains("no rank joined ("));
    CHECK_THAT(said, Catch::Contains("3 ranks go on from step "));
    CHECK(left == 0);
  }
}

TEST_CASE("what a process that has died left is removed, and nobody waits for it") {
  const auto expected = losses_alone();
  const test::TemporaryFolder scratch;
  const auto options = elastic_options("zero1", scratch / "shared");
  const auto print = print_of(options);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto forgotten = std::make_unique<train::Request>(scratch / "shared", print);
    ::_exit(0);  // without the destructor
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(files_of_joining(scratch / "shared") == 1);
  const std::string said = trained(options, 2, 0, 1, expected);
  CHECK_THAT(said, !Catch::Contains("joined"));
  CHECK(files_of_joining(scratch / "shared") == 0);
}

TEST_CASE("only the user may read requests and tickets, and others' files do not count") {
  const test::TemporaryFolder scratch;
  const auto print = print_of(elastic_options("ddp", scratch.path()));
  train::Meeting meeting(scratch.path(), print);
  train::Request request(scratch.path(), print);
  REQUIRE(meeting.somebody_waits());
  meeting.invite(3);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    files.push_back(entry.path());
  CHECK(files.size() == 2);
  for (const auto& file : files) {
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
  }
  const auto ticket = request.wait(std::chrono::seconds(60));
  CHECK(ticket.rank == 2);
  CHECK(ticket.ranks == 3);
  CHECK(files_of_joining(scratch.path()) == 0);

  const train::Request open(scratch.path(), print);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    REQUIRE(::chmod(entry.path().c_str(), 0644) == 0);
  CHECK_FALSE(train::Meeting(scratch.path(), print).somebody_waits());
}

TEST_CASE("who has other options or data is refused, and told so") {
  const test::TemporaryFolder scratch;
  const auto options = elastic_options("ddp", scratch.path());
  auto others = options;
  others.rate.peak *= 2;
  for (const std::uint64_t print : {print_of(others), train::print_of(options, 1)}) {
    train::Request request(scratch.path(), print);
    CHECK_FALSE(train::Meeting(scratch.path(), print_of(options)).somebody_waits());
    CHECK_THROWS_WITH(request.wait(std::chrono::seconds(60)),
                      Catch::Contains("it has other options or data"));
  }
}

TEST_CASE("who asks when the training ends, or is one too many for the batch, is told so") {
  const auto expected = losses_alone();
  const test::TemporaryFolder scratch;
  auto options = elastic_options("ddp", scratch / "shared");
  options.batch = 2;
  options.steps = 2;
  train::Request request(scratch / "shared", print_of(options));
  test::with_world(2, {}, [&](Communicator& world) {
    std::ostringstream out;
    train::run(options, world, out);
  });
  CHECK_THROWS_WITH(request.wait(std::chrono::seconds(60)),
                    Catch::Contains("a global batch of 2 is too small for 3 ranks") ||
                        Catch::Contains("the training has ended"));
}

TEST_CASE("where nobody trains, waiting ends") {
  const test::TemporaryFolder scratch;
  train::Request request(scratch / "shared", 1);
  CHECK_THROWS_WITH(request.wait(std::chrono::milliseconds(50)),
                    Catch::Contains("no training answered in " + (scratch / "shared")));
}

}  // namespace
