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
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bench/floor/wire.h"
#include "bench/rdma/way.h"
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
double latency(Way& way, int rank, std::size_t bytes, int rounds) {
  std::vector<std::byte> data(bytes);
  std::vector<double> times;
  for (int round = -warm_up_rounds; round < rounds; ++round) {
    const auto begin = Clock::now();
    if (rank == 0) way.send(data);
    way.receive(data);
    if (rank == 1) way.send(data);
    if (round >= 0) times.push_back(seconds_since(begin) / 2);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

double rate(Way& way, int rank, std::span<std::byte> data, int count) {
  std::byte answer{};
  const auto stream = [&](int messages) {
    for (int i = 0; i < messages; ++i) rank == 0 ? way.send(data) : way.receive(data);
    rank == 0 ? way.receive({&answer, 1}) : way.send({&answer, 1});
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

double measured(Way& way, int rank, const std::string& kind, std::size_t bytes, int count) {
  if (kind == "latency") return latency(way, rank, bytes, count);
  if (kind == "copy") return copy_rate(bytes, count);
  if (kind == "staged") {
    std::vector<std::byte> data(bytes);
    return rate(way, rank, data, count);
  }
  if (kind != "rate")
    throw Error(ErrorCode::configuration, "'" + kind + "' is none of latency, rate, staged, copy");
  const Memory block = allocate(bytes);
  return rate(way, rank, {static_cast<std::byte*>(block.data()), bytes}, count);
}

void work(Way& way, int rank, const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3)
    throw Error(ErrorCode::configuration, "'" + text + "' is not of the form KIND:BYTES:COUNT");
  const std::size_t bytes = std::stoul(parts[1]);
  const double result = measured(way, rank, parts[0], bytes, std::stoi(parts[2]));
  if (rank == 0) std::printf("%s %zu %.9g\n", parts[0].c_str(), bytes, result);
}

void run(Member& member, SharedMemory& meeting, WaySettings settings,
         const std::vector<std::string>& works) {
  settings.hca = "=" + of_rank("LINK_RATE_HCAS", member.rank());
  settings.address = of_rank("LINK_RATE_ADDRESSES", member.rank());
  settings.interface = "=" + of_rank("LINK_RATE_INTERFACES", member.rank());
  const auto way = make_way(member, meeting, settings);
  for (const std::string& text : works) work(*way, member.rank(), text);
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  using namespace rondo::bench;
  if (argc < 4) {
    std::fprintf(stderr, "usage: link_rate verbs|tcp|socket QUEUE_PAIRS WORK...\n");
    return 2;
  }
  const WaySettings settings{.name = argv[1], .queue_pairs = std::atoi(argv[2])};
  const std::vector<std::string> works(argv + 3, argv + argc);
  SharedMemory meeting(meeting_bytes);
  try {
    run_team(2, [&](Member& member) { run(member, meeting, settings, works); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "link_rate: %s\n", error.what());
    return 1;
  }
}
