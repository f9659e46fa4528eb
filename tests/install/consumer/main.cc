// A program outside the tree: two ranks as threads all-reduce, each checks its sum. The library has the
// version of the headers.
#include <rondo/rondo.h>

#include <cstdio>
#include <string>
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
  const std::string headers = std::to_string(RONDO_VERSION_MAJOR) + "." +
                              std::to_string(RONDO_VERSION_MINOR) + "." +
                              std::to_string(RONDO_VERSION_PATCH);
  const bool all_right = right[0] && right[1] && headers == rondo::version();
  std::printf("rondo %s, headers %s: %s\n", rondo::version(), headers.c_str(),
              all_right ? "right" : "WRONG");
  return all_right ? 0 : 1;
}
