// The recorder: what it keeps, how clocks are compared, and that it works for many threads.
#include "core/trace/recorder.h"

#include <array>
#include <fstream>
#include <iterator>
#include <map>

#include "core/trace/clocks.h"
#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/support/setting.h"
#include "tests/support/threads.h"

namespace {

using namespace rondo;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// How many lines begin with each word.
std::map<std::string, int> count_lines(const std::string& path) {
  std::map<std::string, int> counts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ++counts[line.substr(0, line.find(' '))];
  return counts;
}

trace::Form form_of(std::uint64_t count) {
  PreparedCall prepared{.plan = std::make_shared<const Plan>()};
  prepared.call.count = count;
  return {.prepared = std::make_shared<const PreparedCall>(std::move(prepared))};
}

trace::Origin origin_at(const std::string& name) {
  return {.path = RONDO_TEST_FOLDER "/" + name, .run = "1", .communicator = "world"};
}

}  // namespace

TEST_CASE("the tightest bounds of all meetings hold") {
  CHECK_FALSE(trace::estimate({}).has_value());
  // Rank 0 sends at 100 and has heard of all ranks at 200; this rank's clock is 1000 ahead.
  const std::array meetings{
      trace::Meeting{.sent = 1110, .received = 1300, .root_sent = 100, .root_received = 200},
      trace::Meeting{.sent = 1390, .received = 1450, .root_sent = 380, .root_received = 420}};
  const auto offset = trace::estimate(meetings);
  REQUIRE(offset.has_value());
  CHECK(*offset == trace::Offset{.at = 1450, .ahead = 1020, .uncertainty = 50});
  CHECK(offset->ahead - offset->uncertainty <= 1000);
  CHECK(offset->ahead + offset->uncertainty >= 1000);
}

TEST_CASE("meetings that contradict each other estimate nothing") {
  const std::array meetings{
      trace::Meeting{.sent = 1110, .received = 1120, .root_sent = 100, .root_received = 110},
      trace::Meeting{.sent = 110, .received = 120, .root_sent = 100, .root_received = 110}};
  CHECK_FALSE(trace::estimate(meetings).has_value());
}

TEST_CASE("a recorder keeps the newest events and counts the others") {
  trace::Recorder recorder(origin_at("ring"), 3000);
  const trace::Form form = form_of(1);
  for (int call = 1; call <= 5000; ++call) {
    CHECK(recorder.begin(form, static_cast<std::uint64_t>(call)) ==
          static_cast<std::uint32_t>(call));
    recorder.end(static_cast<std::uint32_t>(call), false);
  }
  recorder.write();
  const std::string text = read(recorder.origin().path);
  CHECK(text.find("\nlost 7000 0 0\nend 3000\n") != std::string::npos);
  CHECK(text.find(" 5000 0\nlost") != std::string::npos);
  CHECK(text.find(" 3500 0 3500\n") == std::string::npos);
  CHECK(text.find(" 3501 0 3501\n") != std::string::npos);
}

TEST_CASE("a recorder keeps the newest calls on GPU buffers, with what is known of them") {
  trace::Recorder recorder(origin_at("gpu"), 4000);
  const auto log = recorder.stream_log();
  const std::int64_t base = trace::Recorder::now();
  for (std::uint64_t call = 0; call < 1002; ++call) {
    const std::int64_t time = base + static_cast<std::int64_t>(10 * call);
    const std::size_t number = log->add({.call = {.count = call}, .put = time});
    CHECK(number == call);
    if (call % 2 == 0) log->note_begun(number, time + 3);
    if (call % 4 == 0) log->note_completed(number, time + 5);
  }
  log->note_begun(0, base);  // it is not kept any more
  CHECK(log->lost() == 2);
  recorder.write();
  const std::string text = read(recorder.origin().path);
  const auto has = [&](const std::string& words) { return text.find(words) != std::string::npos; };
  CHECK(has("\ngpu between-devices 0 0 3 - barrier 2 uint8 sum 0\n"));
  CHECK(has("\ngpu between-devices 0 10 - - barrier 3 uint8 sum 0\n"));
  CHECK(has("\ngpu between-devices 0 20 23 25 barrier 4 uint8 sum 0\n"));
  CHECK(has("\nlost 0 0 2\nend 0\n"));
}

TEST_CASE("calls that are prepared anew have the form of equal calls before") {
  trace::Recorder recorder(origin_at("forms"), 1000);
  const auto plan = std::make_shared<const Plan>();
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t count = 1; count <= 4; ++count) {
      trace::Form form = form_of(count);
      PreparedCall again = *form.prepared;
      again.plan = plan;
      form.prepared = std::make_shared<const PreparedCall>(std::move(again));
      recorder.begin(form, 1);
    }
  }
  recorder.write();
  const auto counts = count_lines(recorder.origin().path);
  CHECK(counts.at("form") == 4);
  CHECK(counts.at("plan") == 1);
  CHECK(counts.at("B") == 12);
}

TEST_CASE("an unfinished trace has only a head") {
  const trace::Recorder recorder(origin_at("head"), 1000);
  const auto counts = count_lines(recorder.origin().path);
  CHECK(counts.count("end") == 0);
  CHECK(counts.at("rondo") == 1);
}

TEST_CASE("a folder that is not there is an error at once") {
  CHECK_THROWS_AS(trace::Recorder(origin_at("no/such/folder"), 1000), Error);
}

TEST_CASE("ranks that are threads record, whichever thread makes progress") {
  const std::string path = RONDO_TEST_FOLDER "/threads";
  constexpr int ranks = 3;
  constexpr int rounds = 20;
  {
    const test::Setting setting("RONDO_TRACE", path);
    test::with_world(ranks, {}, [](Communicator& own) {
      std::vector<float> small(2), large(100000);
      for (int round = 0; round < rounds; ++round) {
        Work work =
            own.all_reduce_async(large.data(), large.data(), large.size(), DataType::float32);
        own.all_reduce(small.data(), small.data(), small.size(), DataType::float32);
        work.wait();
      }
      own.finalize();
    });
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto counts = count_lines(path + "." + std::to_string(rank));
    CHECK(counts.at("B") == 2 * rounds);
    CHECK(counts.at("E") == 2 * rounds);
    CHECK(counts.at("end") == 1);
  }
}
