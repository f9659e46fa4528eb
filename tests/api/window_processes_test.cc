// One-sided calls between processes: memory that peers map, and peers that die or stand still.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "rondo/window.h"
#include "tests/api/expected_error.h"
#include "tests/api/join.h"
#include "tests/catch.h"
#include "tests/ports.h"
#include "tests/support/processes.h"

namespace rondo {
namespace {

using test::Child;
using test::error_of;
using test::join;
using test::run_ranks;
using test::start_ranks;

/// Each rank adds one to every element of the next rank's block, which it reads and writes, and passes
/// the word on: `laps` times round.
std::string count_in_turns(Communicator& world, std::span<int> block, int laps) {
  Window window(world, block.data(), block.size_bytes());
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<int> theirs(block.size());
  for (int lap = 0; lap < laps; ++lap) {
    if (world.rank() != 0 || lap > 0) window.wait_signal(previous);
    window.get(theirs, next);
    for (int& value : theirs) ++value;
    window.put_signal(theirs, next);
  }
  window.close();
  for (const int value : block)
    if (value != laps) return "an element is " + std::to_string(value);
  return "right";
}

TEST_CASE("processes write and read each other's blocks") {
  const std::string transport = GENERATE("shm", "tcp");
  const bool shared = GENERATE(true, false);
  const int port = free_port();
  const auto reports = run_ranks(3, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 3, transport);
    const std::size_t count = 20'000;
    std::vector<int> own(count);
    const Memory memory = allocate(count * sizeof(int));
    return count_in_turns(world, shared ? memory.as<int>() : std::span(own), 10);
  });
  CHECK(reports == std::vector<std::string>(3, "right"));
}

TEST_CASE("the death of a peer ends waits, gets and puts") {
  const std::string transport = GENERATE("shm", "tcp");
  const std::string call = GENERATE("wait_signal", "get", "put");
  const int port = free_port();
  std::vector<Child> ranks = start_ranks(2, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 2, transport);
    std::vector<char> block(1 << 20);
    Window window(world, block.data(), block.size());
    if (rank == 1) {
      ::kill(::getpid(), SIGKILL);
      ::pause();
    }
    std::vector<char> own(block.size());
    const Error error = error_of([&] {
      for (;;) {
        if (call == "wait_signal") window.wait_signal(1);
        if (call == "get") window.get(own, 1);
        if (call == "put") window.put(own, 1);
      }
    });
    return std::string(name(error.code())) + " " + std::to_string(error.peer());
  });
  CHECK(ranks[0].report() == "peer_lost 1");
}

TEST_CASE("a peer that stands still ends a wait, whatever other peers are served meanwhile") {
  const std::string call = GENERATE("flush", "get", "put");
  const int port = free_port();
  std::vector<Child> ranks = start_ranks(3, [&](int rank) -> std::string {
    Communicator world = join(port, rank, 3, "tcp", std::chrono::milliseconds(1500));
    std::vector<char> block(32 << 20);
    Window window(world, block.data(), block.size());
    std::vector<char> own(block.size());
    if (rank == 1) ::raise(SIGSTOP);
    const Error error = error_of([&] {
      for (;;) {
        if (rank == 2) window.get(std::span(own).first(1000), 0);
        if (rank == 0 && call == "get") window.get(own, 1);
        if (rank == 0 && call == "put") window.put(own, 1);
        if (rank == 0 && call == "flush") {
          window.put(std::span(own).first(1000), 1);
          window.flush(1);
        }
      }
    });
    return std::string(name(error.code())) + (rank == 0 ? " in " + error.call() : "");
  });
  CHECK(ranks[0].report() == "timeout in " + call);
  CHECK(ranks[2].report() == "timeout");
  ranks[1].kill();
}

TEST_CASE("a window in a child that its owner forked does nothing") {
  const auto reports = run_ranks(1, [&](int) -> std::string {
    std::vector<Communicator> world = Communicator::from_threads(1);
    std::vector<char> block(100);
    Window window(world[0], block.data(), block.size());
    Child child([&]() -> std::string {
      const Error error = error_of([&] { window.signal(0); });
      Window dropped(std::move(window));
      return std::string(name(error.code()));
    });
    return child.report();
  });
  CHECK(reports[0] == "invalid_usage");
}

}  // namespace
}  // namespace rondo
