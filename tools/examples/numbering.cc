// A scan, and an operator of your own: every rank numbers its lines so that they follow those of the
// ranks below it, and all ranks learn which line is the longest.
//
//   rondorun -n 4 numbering
#include <rondo/rondo.h>

#include <cstdint>
#include <cstdio>

namespace {

struct Line {
  std::int64_t length;
  std::int64_t number;
};

/// Of two lines of one length that with the lower number, so that their order does not matter.
constexpr auto longer = [](const Line& a, const Line& b) {
  const bool first = a.length > b.length || (a.length == b.length && a.number < b.number);
  return first ? a : b;
};
constexpr auto longest = rondo::make_operator<Line, longer>("longest", rondo::Commutes::yes);

}  // namespace

int main() {
  try {
    auto world = rondo::Communicator::from_environment();
    const int rank = world.rank();
    const std::int64_t lines = 100 + 10 * rank;
    std::int64_t before = 0;  // rank 0's stays: nobody is below it
    world.exclusive_scan(lines, before);
    const Line own{.length = 70 + rank * 3 % 4, .number = before + lines / 2};
    Line found{};
    world.all_reduce({&own, 1}, {&found, 1}, longest);
    std::printf("rank %d: lines %lld to %lld; the longest of all, line %lld, has %lld letters\n",
                rank, static_cast<long long>(before), static_cast<long long>(before + lines - 1),
                static_cast<long long>(found.number), static_cast<long long>(found.length));
    world.finalize();
  } catch (const rondo::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
