#include "tests/fake_driver/accesses.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "tests/fake_driver/state.h"

namespace rondo::test {

struct Access::Running {
  const char* what = nullptr;
  std::vector<Touched> touched{};
};

/// All that run now.
struct Accesses {
  std::mutex mutex{};
  std::map<std::size_t, Access::Running> running{};  ///< under mutex
  std::size_t begun = 0;                             ///< under mutex
  int races = 0;                                     ///< under mutex

  static Accesses& all() {
    static Accesses& all = *std::make_unique<Accesses>().release();
    return all;
  }
  /// With the mutex held.
  void note_race(const char* one, const char* other, std::size_t bytes) {
    ++races;
    std::fprintf(stderr, "fake driver: %s and %s touch the same bytes at the same time (of %zu)\n",
                 one, other, bytes);
  }
};

namespace {

bool collide(const Touched& one, const Touched& other) {
  return (one.writes || other.writes) && one.begin < other.begin + other.bytes &&
         other.begin < one.begin + one.bytes;
}

/// Read when the library is loaded: later on, tests change the environment beside streams' threads.
const std::uint64_t seed = [] {
  const char* const set = std::getenv("FAKE_SEED");
  return set != nullptr ? std::strtoull(set, nullptr, 10) : std::uint64_t{1};
}();

/// This copy's own numbers.
std::minstd_rand next_generator() {
  static std::atomic<std::uint64_t> copies{0};  // relaxed: only counted
  return std::minstd_rand(
      static_cast<std::uint_fast32_t>(seed + copies.fetch_add(1, std::memory_order_relaxed)));
}

}  // namespace

Access::Access(const char* what, std::vector<Touched> touched) {
  Accesses& all = Accesses::all();
  const std::scoped_lock lock(all.mutex);
  for (const auto& [number, other] : all.running) {
    for (const Touched& mine : touched) {
      const auto hit = std::ranges::find_if(
          other.touched, [&](const Touched& theirs) { return collide(mine, theirs); });
      if (hit != other.touched.end()) all.note_race(what, other.what, mine.bytes);
    }
  }
  number_ = ++all.begun;
  all.running[number_] = {what, std::move(touched)};
}

Access::~Access() {
  Accesses& all = Accesses::all();
  const std::scoped_lock lock(all.mutex);
  all.running.erase(number_);
}

void copy_in_pieces(std::byte* target, const std::byte* source, std::size_t bytes) {
  if (collide({source, bytes, false}, {target, bytes, true})) {
    Accesses& all = Accesses::all();
    const std::scoped_lock lock(all.mutex);
    all.note_race("a copy's source", "its target", bytes);
  }
  const Access access("a copy", {{source, bytes, false}, {target, bytes, true}});
  std::minstd_rand random = next_generator();
  std::vector<std::size_t> cuts{0, bytes};
  for (int i = 0; i < 5; ++i) cuts.push_back(random() % (bytes + 1));
  std::ranges::sort(cuts);
  std::vector<std::size_t> order(cuts.size() - 1);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random);
  for (const std::size_t i : order) {
    std::memcpy(target + cuts[i], source + cuts[i], cuts[i + 1] - cuts[i]);
    if (random() % 4 == 0) std::this_thread::yield();
  }
}

}  // namespace rondo::test

using namespace rondo::test;
using rondo::cuda::DevicePointer;
using rondo::cuda::success;

extern "C" {

int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  if (const int status = enter("cuMemcpyHtoD")) return status;
  std::byte* const target = reachable(to, bytes);
  if (target == nullptr) return invalid_value;
  std::memcpy(target, from, bytes);
  return success;
}

int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  if (const int status = enter("cuMemcpyDtoH")) return status;
  const std::byte* const source = reachable(from, bytes);
  if (source == nullptr) return invalid_value;
  std::memcpy(to, source, bytes);
  return success;
}

int fake_races() {
  Accesses& all = Accesses::all();
  const std::scoped_lock lock(all.mutex);
  return all.races;
}
}
