// One-way latency and rate between two devices joined by a cable, measured from one end, as
// perftest measures them.
//
//   link_rate verbs|tcp|socket QUEUE_PAIRS WORK...
//
//   WORK = latency:BYTES:ROUNDS   the median of half a round trip, in seconds
//          rate:BYTES:COUNT       a stream of COUNT messages, in bytes per second, from memory of
//                                 allocate(); verbs sends from it without a copy
//          staged:BYTES:COUNT     the same from ordinary memory; verbs copies it into slots
//          copy:BYTES:COUNT       no message: the rate of copying such memory
//
// Prints one line for each, "rate BYTES VALUE". LINK_RATE_HCAS, LINK_RATE_ADDRESSES and
// LINK_RATE_INTERFACES in the environment name the devices, each as "FIRST SECOND".
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bench/rdma/wire.h"
#include "core/base/text.h"
#include "rondo/error.h"
#include "rondo/memory.h"

namespace rondo::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int warm_up_rounds = 20;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// This rank's word of the two in an environment variable.
std::string of_rank(const char* name, int rank) {
  const char* const text = std::getenv(name);
  const auto words = split(text == nullptr ? "" : text, ' ');
  if (words.size() != 2)
    throw Error(ErrorCode::configuration, std::string(name) + " is not of the form FIRST SECOND");
  return words[static_cast<std::size_t>(rank)];
}

/// The latency, measured on rank 0. Rank 1 answers.
double latency(Wire& wire, int rank, std::size_t bytes, int rounds) {
  std::vector<std::byte> data(bytes);
  std::vector<double> times;
  for (int round = -warm_up_rounds; round < rounds; ++round) {
    const auto begin = Clock::now();
    if (rank == 0) wire.send(data);
    wire.receive(data);
    if (rank == 1) wire.send(data);
    if (round >= 0) times.push_back(seconds_since(begin) / 2);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

double rate(Wire& wire, int rank, std::span<std::byte> data, int count) {
  std::byte answer{};
  const auto stream = [&](int messages) {
    for (int i = 0; i < messages; ++i) rank == 0 ? wire.send(data) : wire.receive(data);
    rank == 0 ? wire.receive({&answer, 1}) : wire.send({&answer, 1});
  };
  stream(3);  // pages, windows, caches, registrations
  const auto begin = Clock::now();
  stream(count);
  return static_cast<double>(data.size()) * count / seconds_since(begin);
}

double copy_rate(std::size_t bytes, int count) {
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> into(bytes);
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    std::memcpy(into.data(), from.data(), bytes);
    asm volatile("" : : "r"(into.data()) : "memory");  // so that the copy is not left out
  }
  return static_cast<double>(bytes) * count / seconds_since(begin);
}

double measured(Wire& wire, int rank, const std::string& kind, std::size_t bytes, int count) {
  if (kind == "latency") return latency(wire, rank, bytes, count);
  if (kind == "copy") return copy_rate(bytes, count);
  if (kind == "staged") {
    std::vector<std::byte> data(bytes);
    return rate(wire, rank, data, count);
  }
  if (kind != "rate")
    throw Error(ErrorCode::configuration, "'" + kind + "' is none of latency, rate, staged, copy");
  const Memory block = allocate(bytes);
  return rate(wire, rank, {static_cast<std::byte*>(block.data()), bytes}, count);
}

void work(Wire& wire, int rank, const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3)
    throw Error(ErrorCode::configuration, "'" + text + "' is not of the form KIND:BYTES:COUNT");
  const std::size_t bytes = std::stoul(parts[1]);
  const double result = measured(wire, rank, parts[0], bytes, std::stoi(parts[2]));
  if (rank == 0) std::printf("%s %zu %.9g\n", parts[0].c_str(), bytes, result);
}

/// Binds this end to a core. Otherwise both ends would at times share one, at a third of the speed.
void take_core(int rank) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(rank), &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);  // a machine with one core goes on as it is
}

int run(WireSettings settings, const std::vector<std::string>& works) {
  try {
    take_core(settings.rank);
    settings.hca = "=" + of_rank("LINK_RATE_HCAS", settings.rank);
    settings.address = of_rank("LINK_RATE_ADDRESSES", settings.rank);
    settings.interface = "=" + of_rank("LINK_RATE_INTERFACES", settings.rank);
    const auto wire = make_wire(settings);
    for (const std::string& text : works) work(*wire, settings.rank, text);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "link_rate: end %d: %s\n", settings.rank, error.what());
    return 1;
  }
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: link_rate verbs|tcp|socket QUEUE_PAIRS WORK...\n");
    return 2;
  }
  rondo::bench::WireSettings settings{.way = argv[1], .queue_pairs = std::atoi(argv[2])};
  const std::vector<std::string> works(argv + 3, argv + argc);
  std::array<int, 2> forth{};
  std::array<int, 2> back{};
  if (::pipe(forth.data()) != 0 || ::pipe(back.data()) != 0) return 1;
  const pid_t child = ::fork();
  settings.rank = child == 0 ? 1 : 0;
  settings.reading = child == 0 ? forth[0] : back[0];
  settings.writing = child == 0 ? back[1] : forth[1];
  // The other ends are closed, so that a read ends when the other process does.
  ::close(child == 0 ? forth[1] : back[1]);
  ::close(child == 0 ? back[0] : forth[0]);
  const int result = rondo::bench::run(settings, works);
  if (child == 0) return result;
  int status = 0;
  ::waitpid(child, &status, 0);
  return result != 0 || status != 0 ? 1 : 0;
}
