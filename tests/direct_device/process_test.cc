// Does a peer's process still run?
#include "core/direct_device/process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/base/process_status.h"
#include "tests/catch.h"

namespace rondo::direct_device {
namespace {

/// A child that runs `body`, then ends; it stays a zombie until reap().
class Child {
 public:
  template <class Body>
  explicit Child(Body&& body) : number_(::fork()) {
    if (number_ == 0) {
      body();
      ::_exit(0);
    }
    REQUIRE(number_ > 0);
  }
  ~Child() { reap(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Process process() const {
    return Process{.number = number_, .counted = Process::mine().counted}.seen();
  }
  /// Waits until it has ended, and leaves it a zombie.
  void await_end() const {
    siginfo_t ignored{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(number_), &ignored, WEXITED | WNOWAIT) == 0);
  }
  void reap() {
    if (number_ > 0) ::waitpid(number_, nullptr, 0);
    number_ = 0;
  }

 private:
  pid_t number_;
};

/// Both ends of a pipe. wait() returns when the other end is closed.
struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    go_on();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void wait() {
    go_on();
    char byte = 0;
    while (::read(ends[0], &byte, 1) > 0) {
    }
  }
  void go_on() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int ends[2];
};

TEST_CASE("a process lives until it has ended") {
  CHECK(Process::mine().lives());
  Pipe pipe;
  Child child([&] { pipe.wait(); });
  const Process process = child.process();
  CHECK(process.started >= Process::mine().started);
  CHECK(process.lives());
  pipe.go_on();
  child.await_end();
  CHECK_FALSE(process.lives());          // a zombie
  CHECK_FALSE(child.process().lives());  // a zombie when it was seen
  child.reap();
  CHECK_FALSE(process.lives());
}

TEST_CASE("a killed process has ended, whether its parent asks for it or not") {
  Child child([] { ::raise(SIGKILL); });
  const Process process = child.process();
  child.await_end();
  CHECK_FALSE(process.lives());
}

TEST_CASE("a process lives on without its first thread") {
  Pipe pipe;
  Child child([&] {
    std::thread([&] {
      pipe.wait();
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);  // ends this thread alone, which does not unwind its stack
  });
  const Process process = child.process();
  // The child is about to be a zombie. Where /proc does not tell, nothing can be checked.
  std::optional<ProcessStatus> status;
  while ((status = status_of(process.number)) && status->state != 'Z') std::this_thread::yield();
  if (!status) {
    WARN("left out: /proc does not tell of processes");
    return;
  }
  CHECK(process.lives());
  CHECK(child.process().lives());
  pipe.go_on();
  child.await_end();
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
  Child child([] {});
  Process elsewhere = child.process();
  child.await_end();
  child.reap();
  CHECK_FALSE(elsewhere.lives());
  ++elsewhere.counted;
  CHECK(elsewhere.lives());
  CHECK(elsewhere.seen().started == elsewhere.started);
  elsewhere.number = ::getpid();
  CHECK(elsewhere.lives());
}

}  // namespace
}  // namespace rondo::direct_device
