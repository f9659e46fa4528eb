// No memory left to make channels: a clear error on both sides, never a hang or a crash.
#include "tests/catch.h"
#include "tests/job/support/job.h"

using namespace rondo::test;

namespace {

void check_told(const Result& result, std::size_t ranks, const std::string& code,
                const std::vector<std::string>& texts) {
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  CHECK(failures.size() == ranks);
  for (const auto& [rank, failure] : failures) {
    CHECK(failure.code == code);
    CHECK(failure.seconds < 60);
    CHECK(contains(failure.text, "Try: "));
    for (const std::string& text : texts) CHECK(contains(failure.text, text));
  }
}

}  // namespace

TEST_CASE("no memory for the shared segments: how much was needed and what to set, on both sides") {
  const std::string who = GENERATE(as<std::string>(), "", "0:", "1:");
  const auto result =
      finish(job_of(2, {"--transport", "shm", "--algorithm", "^direct"},
                    {who + "limit_file_size=65536", "join", "call=all_reduce,1000"}));
  check_told(result, 2, "out_of_memory", {"bytes", "RONDO_SLOT_BYTES", "RONDO_TRANSPORT=^shm"});
}

TEST_CASE("no memory for the ranks' control block: which settings need none") {
  const auto result = finish(
      job_of(2, {"--transport", "shm"}, {"limit_file_size=65536", "join", "call=all_reduce,1000"}));
  check_told(result, 2, "out_of_memory",
             {"control block", "bytes", "RONDO_ALGORITHM=^direct", "RONDO_TRANSPORT=^shm"});
}

TEST_CASE("smaller slots fit into less memory, as the error says") {
  auto command = job_of(2, {"--transport", "shm", "--algorithm", "^direct"},
                        {"limit_file_size=65536", "join", "every_collective=10000"});
  command.environment = {"RONDO_SLOT_BYTES=4096"};
  const auto result = finish(command);
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 0);
}

TEST_CASE("no descriptors left: every rank says so, and what to raise") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const std::string who = GENERATE(as<std::string>(), "", "1:");
  const auto result =
      finish(job_of(3, transport, {"join", who + "limit_descriptors=1", "call=all_to_all,1000"}));
  check_told(result, 3, "system", {"ulimit -n"});
}

TEST_CASE("no descriptors left for the bootstrap itself") {
  auto command = job_of(2, {"--grace", "1"}, {"1:limit_descriptors=0", "join"});
  command.environment = {"RONDO_BOOTSTRAP_TIMEOUT=60"};
  const auto result = finish(command);
  INFO(result.output << "\n" << result.error);
  CHECK(result.status == 3);
  const auto failures = failures_in(result.output);
  REQUIRE(failures.count(1) == 1);
  CHECK(failures.at(1).code == "system");
  CHECK(failures.at(1).seconds < 30);  // it does not wait for the bootstrap to be over
  CHECK(contains(failures.at(1).text, "ulimit -n"));
}

TEST_CASE("wherever the descriptors end, every rank that is left has an error or is done") {
  const Words transport = GENERATE(Words{"--transport", "shm"}, Words{"--transport", "tcp"});
  const int left = GENERATE(range(1, 16));
  const auto result = finish(job_of(
      3, transport,
      {"1:limit_descriptors=" + std::to_string(left), "join", "call=all_to_all,1000", "say=done"}));
  INFO(left << " " << transport[1] << "\n" << result.output << "\n" << result.error);
  CHECK((result.status == 0 || result.status == 3));
  CHECK(count_of(result.output, "done ") + count_of(result.output, " fails ") == 3);
}
