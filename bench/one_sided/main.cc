// one_sided_perf: puts and gets of windows (rondo/window.h) beside messages.
//
//   put        each rank puts into the next rank's block with a signal, and waits for the previous one's
//   get        each rank reads the next rank's block
//   send/recv  each rank sends to the next one and receives from the previous one
//
// The three take turns. A turn is a row of calls, each with a place of its own in the block, so that all
// data is fresh; then every byte is checked. Times are of a call on the slowest rank.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/common/side_program.h"
#include "bench/common/statistics.h"
#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "rondo/window.h"

namespace rondo::bench {
namespace {

struct Options {
  Sizes sizes{8, std::size_t{16} << 20, 8};
  int turns = 20;
  bool shared = true;
};

constexpr int kinds = 3;
constexpr const char* names[kinds]{"put", "get", "send/recv"};

constexpr std::size_t bytes_in_a_turn = std::size_t{1} << 20;

/// How many calls a turn has: few bytes take many.
std::size_t calls_of(std::size_t size) {
  return std::clamp<std::size_t>(bytes_in_a_turn / size, 1, 100);
}

/// The byte that a rank gives everywhere in one call of a turn.
int mark(int rank, int turn, std::size_t call) {
  return 1 + (rank * 31 + turn * 7 + static_cast<int>(call)) % 251;
}

/// What one rank does.
class Bench {
 public:
  Bench(Communicator& world, const Options& options)
      : world_(world),
        bytes_(std::max(options.sizes.largest, bytes_in_a_turn)),
        memory_(options.shared ? allocate(2 * bytes_) : Memory()),
        own_(options.shared ? 0 : 2 * bytes_),
        arriving_(options.shared ? memory_.as<std::byte>() : std::span(own_)),
        given_(arriving_.subspan(bytes_, bytes_)),
        taken_(bytes_),
        window_(world, arriving_.data(), arriving_.size()) {}

  /// Seconds of a call of this kind. Throws where a byte is wrong.
  double turn(int kind, int turn, std::size_t size);
  void close() { window_.close(); }

 private:
  void call(int kind, std::size_t place, std::size_t size);
  void check(int kind, int turn, std::size_t size) const;

  Communicator& world_;
  std::size_t bytes_;
  Memory memory_;
  std::vector<std::byte> own_;
  std::span<std::byte> arriving_;  ///< the block's first half: what the previous rank puts
  std::span<std::byte> given_;     ///< its second half: what this rank gives
  std::vector<std::byte> taken_;   ///< by get and recv
  Window window_;
};

void Bench::call(int kind, std::size_t place, std::size_t size) {
  const int next = (world_.rank() + 1) % world_.size();
  const int previous = (world_.rank() + world_.size() - 1) % world_.size();
  if (kind == 0) {
    window_.put_signal(given_.data() + place, size, next, place);
    window_.wait_signal(previous);
  } else if (kind == 1) {
    window_.get(taken_.data() + place, size, next, bytes_ + place);
  } else {
    Group group;
    world_.send(given_.data() + place, size, DataType::uint8, next);
    world_.recv(taken_.data() + place, size, DataType::uint8, previous);
    group.wait();
  }
}

void Bench::check(int kind, int turn, std::size_t size) const {
  const int from = (world_.rank() + (kind == 1 ? 1 : world_.size() - 1)) % world_.size();
  const std::byte* const got = kind == 0 ? arriving_.data() : taken_.data();
  for (std::size_t i = 0; i < calls_of(size) * size; ++i) {
    if (got[i] != static_cast<std::byte>(mark(from, turn, i / size)))
      throw std::runtime_error(std::string(names[kind]) + ": byte " + std::to_string(i) + " of " +
                               std::to_string(size) + " in a call is wrong");
  }
}

double Bench::turn(int kind, int turn, std::size_t size) {
  const std::size_t calls = calls_of(size);
  for (std::size_t i = 0; i < calls; ++i)
    std::memset(given_.data() + i * size, mark(world_.rank(), turn, i), size);
  world_.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) call(kind, i * size, size);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  world_.barrier();
  check(kind, turn, size);
  double seconds = took.count() / static_cast<double>(calls);
  world_.all_reduce(seconds, ReduceOperator::max);  // of the slowest rank
  return seconds;
}

void measure(Bench& bench, Communicator& world, std::size_t size, int turns) {
  std::vector<double> seconds[kinds];
  for (int turn = -1; turn < turns; ++turn) {  // the first one warms up
    for (int kind = 0; kind < kinds; ++kind) {
      const double took = bench.turn(kind, turn + 1, size);
      if (turn >= 0) seconds[kind].push_back(took);
    }
  }
  if (world.rank() != 0) return;
  std::printf("%12zu", size);
  for (const auto& each : seconds) std::printf(" %12.2f", statistics_of(each).p50 * 1e6);
  const double put = statistics_of(seconds[0]).p50;
  std::printf(" %10.2f %10.2f\n", static_cast<double>(size) / put * 1e-9,
              put / statistics_of(seconds[2]).p50);
  std::fflush(stdout);
}

void run(const Options& options) {
  auto world = Communicator::from_environment();
  Bench bench(world, options);
  if (world.rank() == 0)
    std::printf(
        "# %d ranks, blocks in %s memory, medians of %d turns\n%12s %12s %12s %12s %10s %10s\n",
        world.size(), options.shared ? "shared" : "ordinary", options.turns, "size (B)", "put (us)",
        "get (us)", "send/recv", "put (GB/s)", "put/send");
  options.sizes.each([&](std::size_t size) { measure(bench, world, size, options.turns); });
  bench.close();
  world.finalize();
}

}  // namespace
}  // namespace rondo::bench

int main(int argc, char** argv) {
  rondo::bench::Options options;
  CLI::App app(
      "Measures puts and gets of windows (rondo/window.h) beside messages, and checks every byte.",
      "one_sided_perf");
  rondo::bench::add_sizes(app, options.sizes, 1);
  app.add_option("-n,--turns", options.turns, "turns of each kind and size")
      ->check(CLI::Range(1, 1'000'000));
  std::string memory = "shared";
  app.add_option(
         "--memory", memory,
         "of the blocks: shared (rondo::allocate(), which peers of one host map) or ordinary")
      ->check(CLI::IsMember({"shared", "ordinary"}));
  return rondo::bench::run_side_program(app, argc, argv, [&] {
    options.shared = memory == "shared";
    rondo::bench::run(options);
  });
}
