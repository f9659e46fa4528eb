// Random programs of puts, gets and signals, against a model of every rank's block.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "rondo/memory.h"
#include "rondo/rondo.h"
#include "rondo/window.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::expect_that;

constexpr std::size_t own_bytes = 20'000;  ///< each rank writes to its own part of every block

/// What one rank has written to its part of one peer's block, and what it must find there.
struct Model {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(own_bytes);
};

/// One rank's program: the same numbers on every run.
class Program {
 public:
  Program(Communicator& world, Window& window, unsigned seed)
      : world_(world),
        window_(window),
        random_(seed * 100 + static_cast<unsigned>(world.rank())),
        models_(static_cast<std::size_t>(world.size())) {}

  void act() {
    const int peer = below(world_.size());
    switch (below(6)) {
      case 0:
      case 1:
        return put(peer, below(3) == 0 ? own_bytes : 300);
      case 2:
        return get(peer);
      case 3:
        return window_.flush(peer);
      case 4:
        return window_.signal(peer, 9);  // nobody waits for it
      default:
        return put_many(peer);
    }
  }
  const Model& of(int peer) const { return models_[static_cast<std::size_t>(peer)]; }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::size_t first() const { return static_cast<std::size_t>(world_.rank()) * own_bytes; }

  void put(int peer, std::size_t most) {
    const std::size_t bytes = random_() % (most + 1);
    const std::size_t at = random_() % (own_bytes - bytes + 1);
    std::vector<std::uint8_t> values(bytes);
    for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random_());
    auto& model = models_[static_cast<std::size_t>(peer)].bytes;
    std::ranges::copy(values, model.begin() + static_cast<std::ptrdiff_t>(at));
    if (below(2) == 0) {
      window_.put(values, peer, first() + at);
    } else {
      window_.put_signal(values, peer, first() + at, 8);
    }
    std::ranges::fill(values, std::uint8_t{0});  // it may change when put() has returned
  }
  void put_many(int peer) {
    for (int i = 0; i < 70; ++i) put(peer, 20);  // more than may wait for a peer
  }
  void get(int peer) {
    const std::size_t bytes = random_() % (own_bytes + 1);
    const std::size_t at = random_() % (own_bytes - bytes + 1);
    std::vector<std::uint8_t> values(bytes);
    window_.get(values, peer, first() + at);
    const auto expected = of(peer).bytes.begin() + static_cast<std::ptrdiff_t>(at);
    expect_that(std::equal(values.begin(), values.end(), expected), "a get finds what was put");
  }

  Communicator& world_;
  Window& window_;
  std::mt19937 random_;
  std::vector<Model> models_;
};

TEST_CASE("random puts, gets and signals leave what a model says") {
  struct Way {
    const char* transport;
    bool shared;
    bool checksum;
  };
  for (const Way& way :
       {Way{"local", false, false}, Way{"shm", true, false}, Way{"shm", false, true},
        Way{"tcp", false, false}, Way{"tcp", false, true}}) {
    for (const int ranks : test::cells<int>({1, 2, 4}, {3})) {
      test::with_world(
          ranks, {.transport = way.transport, .checksum = way.checksum}, [&](Communicator& world) {
            const std::size_t bytes = own_bytes * static_cast<std::size_t>(ranks);
            // On a mixture, some blocks are mapped and others are not.
            const bool shared = way.shared && world.rank() % 2 == 0;
            const Memory memory = allocate(shared ? bytes : 1);
            std::vector<std::uint8_t> own(shared ? 0 : bytes);
            std::uint8_t* const block = shared ? memory.as<std::uint8_t>().data() : own.data();
            Window window(world, block, bytes);
            Program program(world, window, 7);
            for (int round = 0; round < 3; ++round) {
              for (int i = 0; i < 40; ++i) program.act();
              window.fence();
              // Each rank tells every other one what it has written there.
              for (int from = 0; from < ranks; ++from) {
                for (int to = 0; to < ranks; ++to) {
                  Model told = program.of(to);
                  world.broadcast(told.bytes, from);
                  if (world.rank() != to) continue;
                  expect_that(
                      std::equal(told.bytes.begin(), told.bytes.end(),
                                 block + static_cast<std::size_t>(from) * own_bytes),
                      std::string(way.transport) + ": the part of rank " + std::to_string(from));
                }
              }
              window.fence();
            }
            window.close();
          });
    }
  }
}

}  // namespace
}  // namespace rondo
