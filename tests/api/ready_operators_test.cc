// The ready-made operators: each element beside what a loop over the ranks makes of it.
#include <complex>
#include <string>
#include <vector>

#include "rondo/operators.h"
#include "rondo/rondo.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::expect_that;
using test::with_world;

constexpr std::size_t count = 1000;

/// What rank `rank` gives for element i.
template <class T>
T value(int rank, std::size_t i) {
  return static_cast<T>((i * 7 + static_cast<std::size_t>(rank) * 5) % 3);
}
template <>
Located<double> value(int rank, std::size_t i) {
  return {static_cast<double>((i * 31 + static_cast<std::size_t>(rank) * 17) % 5), rank};
}
template <>
Located<std::int32_t> value(int rank, std::size_t i) {
  return {static_cast<std::int32_t>((i * 31 + static_cast<std::size_t>(rank) * 17) % 5), rank};
}
template <>
std::complex<float> value(int rank, std::size_t i) {
  return {static_cast<float>(i % 4) - 1, static_cast<float>(rank) - 1};
}

/// `combine`: what the operator should do with two elements.
template <class T, class Combine>
void check(Communicator& world, const OperatorOn<T>& own, Combine combine) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(value<T>(world.rank(), i));
  world.all_reduce(values, own);
  for (std::size_t i = 0; i < count; ++i) {
    T wanted = value<T>(0, i);
    for (int rank = 1; rank < world.size(); ++rank) wanted = combine(wanted, value<T>(rank, i));
    expect_that(values[i] == wanted, std::string(own.name) + ", element " + std::to_string(i));
  }
}

template <class T>
void check_logical(Communicator& world) {
  check(world, logical_and<T>, [](T a, T b) { return static_cast<T>(a && b); });
  check(world, logical_or<T>, [](T a, T b) { return static_cast<T>(a || b); });
  check(world, logical_xor<T>, [](T a, T b) { return static_cast<T>(!a != !b); });
}

template <class T>
void check_located(Communicator& world) {
  using At = Located<T>;
  // Ranks are the indices, so the first of equal ones stays.
  check(world, smallest_located<T>, [](At a, At b) { return b.value < a.value ? b : a; });
  check(world, largest_located<T>, [](At a, At b) { return b.value > a.value ? b : a; });
}

TEST_CASE("ready-made operators do what their names say") {
  for (const char* const transport : {"local", "tcp"}) {
    for (const int ranks : {2, 3, 4}) {
      with_world(ranks, {.transport = transport}, [](Communicator& world) {
        check_logical<int>(world);
        check_logical<std::uint8_t>(world);
        check_logical<double>(world);
        check_located<double>(world);
        check_located<std::int32_t>(world);
        check(world, complex_product<float>, [](std::complex<float> a, std::complex<float> b) {
          return a * b;  // whole numbers: exact
        });
      });
    }
  }
}

}  // namespace
}  // namespace rondo
