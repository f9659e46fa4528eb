// Jobs of the rank program, and reading what its ranks said.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/ports.h"
#include "tests/tools/rondorun/support/process.h"

namespace rondo::test {

using rondo::free_port;

using Words = std::vector<std::string>;

std::string job_rank_program();

/// rondorun -n `ranks`, options, the rank program with its script.
Command job_of(int ranks, const Words& options, const Words& script);
/// One rank by itself, as rank `rank` of `ranks` that meet at `port` of this machine.
Command rank_of(int rank, int ranks, int port, const Words& script);

/// "rank 2 fails peer_lost 1 after 0.2 s: text"
struct Failure {
  std::string code{};
  int peer = -1;
  double seconds = 0;
  std::string text{};
};
/// The failures, by rank.
std::map<int, Failure> failures_in(const std::string& output);

/// Descriptors, lines and so on that fit a text.
int count_of(const std::string& text, const std::string& part);
bool contains(const std::string& text, const std::string& part);

/// The shared-memory files of this machine that carry rondo's name.
std::vector<std::string> shared_memory_files();

/// True when the process has a TCP connection and sleeps: it has said everything, and listens.
bool is_waiting_on_a_connection(pid_t process);

}  // namespace rondo::test
