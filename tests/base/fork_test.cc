// What a child by fork() gets from this process, and what it does not get.
#include "core/base/fork.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>

#include "core/base/unique_fd.h"
#include "tests/catch.h"

namespace rondo {
namespace {

/// What `look` finds in a child.
bool in_a_child(const std::function<bool()>& look) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(look() ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_pipe(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

struct Pipe {
  Pipe() {
    std::array<int, 2> made{};
    REQUIRE(::pipe(made.data()) == 0);
    reads = UniqueFd(made[0]);
    writes = UniqueFd(made[1]);
  }
  UniqueFd reads{};
  UniqueFd writes{};
};

TEST_CASE("while a descriptor is kept from children, they get an empty file in its place") {
  const Pipe pipe;
  const int kept = pipe.reads.get();
  const int other = pipe.writes.get();
  std::optional<KeptFromChildren> keeper(kept);
  CHECK(in_a_child([&] { return !is_pipe(kept) && ::fcntl(kept, F_GETFD) == FD_CLOEXEC; }));
  CHECK(in_a_child([&] { return is_pipe(other); }));
  CHECK(in_a_child([&] { return in_a_child([&] { return !is_pipe(kept); }); }));
  CHECK(in_a_child([&] {  // a descriptor of its own under that number
    return ::dup2(other, kept) == kept && in_a_child([&] { return is_pipe(kept); });
  }));
  CHECK(is_pipe(kept));
  keeper.reset();
  CHECK(in_a_child([&] { return is_pipe(kept); }));
}

TEST_CASE("a process is told from its children, and these from their own") {
  const MakerProcess here;
  CHECK(here.is_this());
  CHECK(in_a_child([&] { return !here.is_this(); }));
  CHECK(in_a_child([&] {
    const MakerProcess child;
    return child.is_this() && in_a_child([&] { return !child.is_this() && !here.is_this(); });
  }));
  CHECK(here.is_this());
}

}  // namespace
}  // namespace rondo
