// Does a peer's process still run?
#include "core/direct_device/process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/base/process_status.h"
#include "tests/catch.h"
#include "tests/support/processes.h"

namespace rondo::direct_device {
namespace {

using test::Child;
using test::Gate;

Process process_of(const Child& child) {
  return Process{.number = child.pid(), .counted = Process::mine().counted}.seen();
}

/// Waits until it has ended, and leaves it a zombie. Child::kill() asks for it.
void await_end(const Child& child) {
  siginfo_t ignored{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child.pid()), &ignored, WEXITED | WNOWAIT) == 0);
}

TEST_CASE("a process lives until it has ended") {
  CHECK(Process::mine().lives());
  const Gate gate;
  Child child([&] {
    gate.pass();
    return "";
  });
  const Process process = process_of(child);
  CHECK(process.started >= Process::mine().started);
  CHECK(process.lives());
  gate.open(1);
  await_end(child);
  CHECK_FALSE(process.lives());            // a zombie
  CHECK_FALSE(process_of(child).lives());  // a zombie when it was seen
  child.kill();
  CHECK_FALSE(process.lives());
}

TEST_CASE("a killed process has ended, whether its parent asks for it or not") {
  const Child child([] {
    ::raise(SIGKILL);
    return "";
  });
  const Process process = process_of(child);
  await_end(child);
  CHECK_FALSE(process.lives());
}

TEST_CASE("a process lives on without its first thread") {
  const Gate gate;
  const Child child([&] {
    std::thread([&] {
      gate.pass();
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);  // ends this thread alone, which does not unwind its stack
    return "";
  });
  const Process process = process_of(child);
  // The child is about to be a zombie. Where /proc does not tell, nothing can be checked.
  std::optional<ProcessStatus> status;
  while ((status = status_of(process.number)) && status->state != 'Z') std::this_thread::yield();
  if (!status) {
    WARN("left out: /proc does not tell of processes");
    return;
  }
  CHECK(process.lives());
  CHECK(process_of(child).lives());
  gate.open(1);
  await_end(child);
  CHECK_FALSE(process.lives());
}

TEST_CASE("a process whose number another one has now has ended") {
  Process earlier = Process::mine();
  --earlier.started;
  CHECK_FALSE(earlier.lives());
  earlier.started = 0;  // it was not read
  CHECK(earlier.lives());
}

TEST_CASE("a number from another PID namespace says nothing about a process's end") {
  Child child([] { return ""; });
  Process elsewhere = process_of(child);
  await_end(child);
  child.kill();
  CHECK_FALSE(elsewhere.lives());
  ++elsewhere.counted;
  CHECK(elsewhere.lives());
  CHECK(elsewhere.seen().started == elsewhere.started);
  elsewhere.number = ::getpid();
  CHECK(elsewhere.lives());
}

}  // namespace
}  // namespace rondo::direct_device
