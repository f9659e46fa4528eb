// Very many calls under way at once. Each takes the same work, however many there are: with work
// that grows with their number these cases would take minutes.
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

constexpr std::size_t many = test::is_sanitized ? 2'000 : 20'000;

TEST_CASE("very many messages in one group arrive in order") {
  const char* const transport = GENERATE("shm", "tcp", "local");
  test::with_world(2, {.transport = transport}, [](Communicator& world) {
    const int peer = 1 - world.rank();
    std::vector<int> sent(many);
    std::vector<int> received(many, -1);
    std::iota(sent.begin(), sent.end(), world.rank());
    {
      Group group;
      for (std::size_t i = 0; i < many; ++i) {
        world.send(&sent[i], 1, DataType::int32, peer);
        world.recv(&received[i], 1, DataType::int32, peer);
      }
      group.wait();
    }
    for (std::size_t i = 0; i < many; ++i) {
      if (received[i] != peer + static_cast<int>(i)) throw std::runtime_error("out of order");
    }
  });
}

TEST_CASE("very many asynchronous collectives are right, whenever they are waited for") {
  const char* const transport = GENERATE("shm", "tcp");
  test::with_world(2, {.transport = transport}, [](Communicator& world) {
    std::vector<int> values(many);
    std::iota(values.begin(), values.end(), world.rank());
    std::vector<Work> under_way;
    for (int& value : values)
      under_way.push_back(world.all_reduce_async(&value, &value, 1, DataType::int32));
    for (std::size_t i = many; i-- > 0;) under_way[i].wait();
    for (std::size_t i = 0; i < many; ++i) {
      if (values[i] != 2 * static_cast<int>(i) + 1) throw std::runtime_error("wrong sum");
    }
  });
}

}  // namespace
}  // namespace rondo
