// What the kernel says about processes.
#include "core/base/process_status.h"

#include <unistd.h>

#include "tests/catch.h"

namespace rondo {
namespace {

/// A line of /proc/PID/stat, as proc(5) has it.
std::string line(const std::string& name, char state, int threads) {
  return "4711 (" + name + ") " + state + " 12 4711 4711 0 -1 4194304 100 0 0 0 7 3 0 0 20 0 " +
         std::to_string(threads) + " 0 987654321 8192 0 18446744073709551615 1 1 0 0\n";
}

TEST_CASE("a process's status is read after its name, whatever the name holds") {
  for (const char* const name : {"sleep", "a b", "S 1 2 3", ") Z 1", "(x) R (y) ", ""}) {
    INFO(name);
    const auto status = ProcessStatus::parse(line(name, 'S', 3));
    REQUIRE(status);
    CHECK(status->number == 4711);
    CHECK(status->state == 'S');
    CHECK(status->threads == 3);
    CHECK(status->started == 987654321);
  }
}

TEST_CASE("text that is not a process's status gives no status") {
  for (const char* const text : {"", "4711", "4711 (sleep", "4711 (sleep)", "4711 (sleep) S 1 2"})
    CHECK_FALSE(ProcessStatus::parse(text));
}

TEST_CASE("a process has ended when no thread of it is left") {
  for (const char state : {'R', 'S', 'D', 'T', 't', 'I'})
    CHECK_FALSE(ProcessStatus::parse(line("x", state, 1))->has_ended());
  CHECK(ProcessStatus::parse(line("x", 'Z', 1))->has_ended());
  CHECK(ProcessStatus::parse(line("x", 'X', 1))->has_ended());
  CHECK_FALSE(ProcessStatus::parse(line("x", 'Z', 2))->has_ended());  // the first thread alone
}

TEST_CASE("this process finds itself by its number") {
  const auto own = own_status();
  const auto found = status_of(::getpid());
  REQUIRE(own);
  REQUIRE(found);
  CHECK(own->number == ::getpid());
  CHECK(found->number == own->number);
  CHECK(found->started == own->started);
  CHECK(own->started > 0);
  CHECK_FALSE(own->has_ended());
}

}  // namespace
}  // namespace rondo
