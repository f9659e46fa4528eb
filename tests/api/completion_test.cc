// A complete call needs nothing more of this rank: peers get the rest while it blocks elsewhere.
#include <barrier>
#include <vector>

#include "rondo/rondo.h"
#include "tests/api/threads.h"
#include "tests/catch.h"

namespace rondo {
namespace {

// More than sockets buffer, so that a rank ends with bytes that the kernel has not taken yet. Where
// such a rank returned from its call, the others would never reach the barrier.
TEST_CASE("ranks may block outside rondo as soon as their own call is complete") {
  constexpr int ranks = 3;
  constexpr std::size_t count = std::size_t{2} << 20;
  for (const char* transport : {"tcp", "shm", "local"}) {
    std::barrier meeting(ranks);
    test::with_world(ranks, {.transport = transport}, [&](Communicator& world) {
      for (int call = 0; call < 12; ++call) {
        const int root = call % ranks;
        std::vector<float> data(count, world.rank() == root ? static_cast<float>(call) : -1.0F);
        world.broadcast(data.data(), data.data(), count, DataType::float32, root);
        meeting.arrive_and_wait();
        if (data.front() != static_cast<float>(call) || data.back() != data.front())
          throw std::runtime_error("wrong data");
      }
    });
  }
  SUCCEED("every rank came to every barrier");
}

}  // namespace
}  // namespace rondo
