// Operators of the caller's, on elements of the caller's: every collective that reduces, every algorithm
// that may serve it, several transports. The oracle combines the ranks' vectors one after the other.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/table.h"
#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::with_world;

/// 2 x 2 numbers, modulo 2^32: the order of factors counts.
struct Matrix {
  std::array<std::uint32_t, 4> at;
  friend bool operator==(const Matrix&, const Matrix&) = default;
};
constexpr auto multiply = [](const Matrix& a, const Matrix& b) {
  return Matrix{{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
                 a.at[2] * b.at[0] + a.at[3] * b.at[2], a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
};
constexpr auto product = make_operator<Matrix, multiply>("matrix product", Commutes::no);

/// 12 bytes: no cache line holds a whole number of them.
struct Largest {
  float value;
  std::int32_t rank;
  std::int32_t index;
  friend bool operator==(const Largest&, const Largest&) = default;
};
constexpr auto larger = [](const Largest& a, const Largest& b) {
  const bool first = a.value > b.value || (a.value == b.value && a.rank < b.rank);
  return first ? a : b;
};
constexpr auto largest = make_operator<Largest, larger>("largest", Commutes::yes);

Matrix element(const Matrix&, int rank, std::size_t i) {
  const auto x = static_cast<std::uint32_t>(i * 7 + static_cast<std::size_t>(rank) * 3 + 1);
  return {{x, x + 2, 3, x * x}};
}
Largest element(const Largest&, int rank, std::size_t i) {
  const auto r = static_cast<std::size_t>(rank);
  return {static_cast<float>((i * 31 + r * 17) % 11), rank, static_cast<std::int32_t>(i)};
}

template <class T>
std::vector<T> input_of(int rank, std::size_t elements) {
  std::vector<T> made;
  for (std::size_t i = 0; i < elements; ++i) made.push_back(element(T{}, rank, i));
  return made;
}

/// Element i over the ranks below `end`.
template <class T, class Function>
T combined(int end, std::size_t i, Function function) {
  T made = element(T{}, 0, i);
  for (int rank = 1; rank < end; ++rank) made = function(made, element(T{}, rank, i));
  return made;
}

/// What no operator here makes.
template <class T>
T untouched() {
  T made{};
  std::memset(&made, 0x5a, sizeof made);
  return made;
}

/// The call, in place or not, waiting or in a group, and what it leaves there.
template <class T>
std::vector<T> outcome(Communicator& world, Collective collective, std::size_t count,
                       const OperatorOn<T>& own, bool in_place) {
  const bool blocks = collective == Collective::reduce_scatter;
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<T> in = input_of<T>(world.rank(), blocks ? ranks * count : count);
  std::vector<T> apart(count, untouched<T>());
  const std::size_t begin = blocks ? count * static_cast<std::size_t>(world.rank()) : 0;
  const std::span<T> out = in_place ? std::span(in).subspan(begin, count) : std::span(apart);
  {
    std::optional<Group> group;
    if (count == 7) group.emplace();
    if (collective == Collective::all_reduce)
      in_place ? world.all_reduce(out, own) : world.all_reduce(in, out, own);
    if (blocks && in_place) world.reduce_scatter_async(in, out, own).wait();
    if (blocks && !in_place) world.reduce_scatter(in, out, own);
    if (collective == Collective::reduce) world.reduce(in, out, own, world.size() - 1);
    // The call keeps its operator: this one does not live until it is complete.
    if (collective == Collective::scan) world.scan_async(in, out, OperatorOn<T>(own)).wait();
    if (collective == Collective::exclusive_scan)
      in_place ? world.exclusive_scan(out, own) : world.exclusive_scan(in, out, own);
  }
  return {out.begin(), out.end()};
}

/// How many ranks contribute to this rank's output; none: it is not touched.
std::optional<int> contributors(Collective collective, int rank, int ranks) {
  if (collective == Collective::reduce && rank != ranks - 1) return {};
  if (collective == Collective::exclusive_scan && rank == 0) return {};
  if (collective == Collective::exclusive_scan) return rank;
  return collective == Collective::scan ? rank + 1 : ranks;
}

template <class T, class Function>
void check(Communicator& world, Collective collective, const OperatorOn<T>& own,
           Function function) {
  const auto end = contributors(collective, world.rank(), world.size());
  const T wanted = untouched<T>();
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{9001}}) {
    for (const bool in_place : {false, true}) {
      const std::vector<T> out = outcome(world, collective, count, own, in_place);
      for (const T& value : out)
        test::expect_that(end || in_place || std::memcmp(&value, &wanted, sizeof value) == 0,
                          std::string(name(collective)) + " writes an output that is nobody's");
      if (!end) continue;
      const bool blocks = collective == Collective::reduce_scatter;
      const std::size_t first = blocks ? count * static_cast<std::size_t>(world.rank()) : 0;
      for (std::size_t i = 0; i < count; ++i)
        test::expect_that(out[i] == combined<T>(*end, first + i, function),
                          std::string(name(collective)) + " by " + own.name + ", element " +
                              std::to_string(i) + " of " + std::to_string(count));
    }
  }
}

TEST_CASE("a caller's operator is right by every algorithm that may serve it") {
  for (const Algorithm& row : algorithms()) {
    if (!info(row.collective).reduces) continue;
    for (const char* const transport : test::cells<const char*>({"local", "shm", "tcp"}, {"shm"})) {
      for (const int ranks : test::cells<int>({1, 2, 3, 5}, {3})) {
        CAPTURE(name(row.collective), row.name, transport, ranks);
        const Options options{
            .transport = transport,
            .algorithm = std::string(name(row.collective)) + ":" + std::string(row.name)};
        with_world(ranks, options, [&](Communicator& world) {
          check(world, row.collective, largest, larger);
          if (row.rank_order || is_scan(row.collective))
            check(world, row.collective, product, multiply);
        });
      }
    }
  }
}

TEST_CASE("a caller's operator is right where rondo chooses") {
  for (const char* const transport : {"local", "shm", "tcp"}) {
    for (const int ranks : test::cells<int>({2, 3, 5}, {3})) {
      with_world(ranks, {.transport = transport}, [&](Communicator& world) {
        for (const CollectiveInfo& row : collectives) {
          if (!row.reduces) continue;
          check(world, row.collective, largest, larger);
          check(world, row.collective, product, multiply);
        }
      });
    }
  }
}

TEST_CASE("operators that are none, and algorithms that keep no order, are refused in words") {
  with_world(2, {.algorithm = "all_reduce:ring"}, [](Communicator& world) {
    std::vector<Matrix> values(4);
    expect(
        error_of([&] { world.all_reduce(values, values, product); }), ErrorCode::configuration,
        "which is of an operator that does not commute: contributions are combined in rank order");
    expect(
        error_of([&] { world.reduce(values, std::span(values).first(3), product, world.rank()); }),
        ErrorCode::invalid_argument, "the input has 4 elements and the output 3");
    expect(error_of([&] { world.scan(values.data(), values.data(), 4, Operator{}); }),
           ErrorCode::invalid_argument, "no name or no function");
    expect(error_of([&] { world.scan(values, OperatorOn<Matrix>{}); }), ErrorCode::invalid_argument,
           "the operator's elements have 0 bytes, the buffers' 16");
    Operator wrong = product;
    wrong.element_bytes = most_operator_bytes + 1;
    expect(error_of([&] { world.scan(values.data(), values.data(), 4, wrong); }),
           ErrorCode::invalid_argument, "elements have 4097 bytes");
  });
}

TEST_CASE("ranks whose operators differ are told so") {
  static constexpr auto other = make_operator<Largest, larger>("smallest", Commutes::yes);
  with_world(2, {}, [](Communicator& world) {
    std::vector<Largest> values(3);
    const auto error =
        error_of([&] { world.all_reduce(values, values, world.rank() == 0 ? largest : other); });
    expect(error, ErrorCode::mismatch, "an operator of the caller's");
  });
}

}  // namespace
}  // namespace rondo
