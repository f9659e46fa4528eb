#include "tests/nccl/hosts.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/base/unique_fd.h"
#include "tests/nccl/device.h"

namespace rondo::test {
namespace {

constexpr std::chrono::minutes patience{2};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    expect_that(::pipe(ends.data()) == 0, "a pipe");
    from = UniqueFd(ends[0]);
    to = UniqueFd(ends[1]);
  }
  UniqueFd from{};
  UniqueFd to{};
};

/// One rank, as its parent knows it: its process, and pipes to it and back.
struct Host {
  pid_t process = 0;
  Pipe id{};     ///< what rank 0 tells it: a unique id
  Pipe words{};  ///< its standard error
};

void set_environment(int rank, const Environment& more) {
  ::setenv("RONDO_TRANSPORT", "tcp", 0);
  ::setenv("RONDO_HOSTID", ("host" + std::to_string(rank)).c_str(), 1);
  for (const std::string& each : more) {
    const std::size_t equals = each.find('=');
    ::setenv(each.substr(0, equals).c_str(), each.substr(equals + 1).c_str(), 1);
  }
}

ncclUniqueId meet(int rank, const std::vector<Host>& hosts) {
  ncclUniqueId id{};
  if (rank == 0) {
    expect(ncclGetUniqueId(&id));
    for (const Host& host : hosts)
      expect_that(::write(host.id.to.get(), &id, sizeof id) == sizeof id, "the id is passed on");
  }
  const ssize_t got = ::read(hosts[static_cast<std::size_t>(rank)].id.from.get(), &id, sizeof id);
  expect_that(got == sizeof id, "rank 0 has told its id");
  return id;
}

void run_rank(int rank, const std::vector<Host>& hosts, const HostBody& body) {
  cuCtxSetCurrent(device_context(0));
  ncclComm_t comm = nullptr;
  expect(ncclCommInitRank(&comm, static_cast<int>(hosts.size()), meet(rank, hosts), rank));
  try {
    body(rank, comm);
  } catch (...) {
    ncclCommAbort(comm);  // the others would wait for this rank
    throw;
  }
  expect(ncclCommDestroy(comm));
  expect_blocks(0);
  expect_that(fake_violations() == 0, "nothing that the driver forbids");
}

/// Runs a rank in its own process. Never returns, as it must not end what is the parent's.
[[noreturn]] void be(int rank, const std::vector<Host>& hosts, const HostBody& body,
                     const Environment& more) {
  int status = 1;
  ::dup2(hosts[static_cast<std::size_t>(rank)].words.to.get(), STDERR_FILENO);
  try {
    set_environment(rank, more);
    run_rank(rank, hosts, body);
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  ::_exit(status);
}

/// What all processes write until they have ended, or are killed because they take too long.
std::vector<std::string> read_all(const std::vector<Host>& hosts) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> words(hosts.size());
  std::vector<pollfd> open;
  for (const Host& host : hosts) open.push_back({host.words.from.get(), POLLIN, 0});
  std::size_t left = hosts.size();
  while (left > 0) {
    ::poll(open.data(), open.size(), 1000);
    if (std::chrono::steady_clock::now() > end) {
      for (const Host& host : hosts) ::kill(host.process, SIGKILL);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 4096> piece{};
      const ssize_t got = ::read(open[i].fd, piece.data(), piece.size());
      if (got > 0) words[i].append(piece.data(), static_cast<std::size_t>(got));
      if (got > 0) continue;
      open[i].fd = -1;
      --left;
    }
  }
  return words;
}

}  // namespace

std::vector<Ended> run_hosts(int ranks, const HostBody& body, const Environment& more) {
  std::vector<Host> hosts(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    expect_that(process >= 0, "a process");
    if (process == 0) be(rank, hosts, body, more);
    hosts[static_cast<std::size_t>(rank)].process = process;
  }
  for (Host& host : hosts) host.words.to = UniqueFd();
  std::vector<std::string> words = read_all(hosts);
  std::vector<Ended> ended;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Ended& each = ended.emplace_back();
    ::waitpid(hosts[i].process, &each.status, 0);
    each.words = std::move(words[i]);
  }
  return ended;
}

void with_hosts(int ranks, const HostBody& body, const Environment& more) {
  std::string failures;
  for (const Ended& each : run_hosts(ranks, body, more)) {
    if (each.status != 0)
      failures += "ended with status " + std::to_string(each.status) + ": " + each.words;
  }
  expect_that(failures.empty(), failures);
}

void with_device_members(int ranks, const HostBody& body) { with_hosts(ranks, body); }

}  // namespace rondo::test
