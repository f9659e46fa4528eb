// A program outside the tree: two ranks as threads all-reduce, each checks its sum.
#include <rondo/rondo.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

// Every rank contributes rank + 1: the sum over ranks 0 and 1 is 3.
void run_rank(rondo::Communicator& world, bool& right) {
  std::vector<float> buffer(1000, static_cast<float>(world.rank() + 1));
  world.all_reduce(buffer.data(), buffer.data(), buffer.size(), rondo::DataType::float32);
  right = true;
  for (const float value : buffer) right = right && value == 3.0F;
}

}  // namespace

int main() {
  auto worlds = rondo::Communicator::from_threads(2);
  bool right[2] = {false, false};
  std::thread other([&] { run_rank(worlds[1], right[1]); });
  run_rank(worlds[0], right[0]);
  other.join();
  std::printf("rondo %s: %s\n", rondo::version(), right[0] && right[1] ? "right" : "WRONG");
  return right[0] && right[1] ? 0 : 1;
}
