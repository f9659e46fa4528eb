// The typed calls do what those on raw memory do, for every element type.
#include <cstring>
#include <functional>
#include <numeric>
#include <string>

#include "rondo/memory.h"
#include "tests/api/expected_error.h"
#include "tests/api/threads.h"
#include "tests/catch.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::with_world;

/// A user's own types, by their bits.
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};
struct E4m3 {
  std::uint8_t bits;
};
struct E5m2 {
  std::uint8_t bits;
};

}  // namespace

template <>
inline constexpr auto data_type_of<Half> = DataType::float16;
template <>
inline constexpr auto data_type_of<Brain> = DataType::bfloat16;
template <>
inline constexpr auto data_type_of<E4m3> = DataType::float8_e4m3;
template <>
inline constexpr auto data_type_of<E5m2> = DataType::float8_e5m2;

namespace {

template <class... T>
struct Types {
  static constexpr std::array data_types{data_type_of<T>...};
};
using AllTypes =
    Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
          std::int64_t, std::uint64_t, Half, Brain, float, double, E4m3, E5m2>;

static_assert(AllTypes::data_types.size() == data_types.size());
static_assert(data_type_of<char> == (std::is_signed_v<char> ? DataType::int8 : DataType::uint8));
static_assert(data_type_of<std::byte> == DataType::uint8);
static_assert(data_type_of<short> == DataType::int16);
static_assert(data_type_of<long> == DataType::int64);
static_assert(data_type_of<long long> == DataType::int64);
static_assert(data_type_of<unsigned long long> == DataType::uint64);
static_assert(data_type_of<std::size_t> == DataType::uint64);
static_assert(!HasDataType<bool> && !HasDataType<long double> && !HasDataType<int*>);
static_assert(!HasDataType<std::string> && !HasDataType<Reduction> && HasDataType<Half>);

/// A small value of any type: bytes of 0 or 1 are small integers and tiny floats.
template <class T>
std::vector<T> some_values(std::size_t count, int rank) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>((i + static_cast<std::size_t>(rank)) % 2 + 1);
    std::memset(&values[i], 0, sizeof(T));
    std::memcpy(&values[i], &byte, 1);
  }
  return values;
}

/// Both calls fill a buffer of so many elements; the bytes must be equal.
template <class T>
void compare(const char* what, std::size_t count, const std::function<void(std::vector<T>&)>& typed,
             const std::function<void(std::vector<T>&)>& raw) {
  std::vector<T> a = some_values<T>(count, 0);
  std::vector<T> b = a;
  typed(a);
  raw(b);
  if (std::memcmp(a.data(), b.data(), count * sizeof(T)) != 0)
    throw std::runtime_error(std::string(what) + " differs for " +
                             std::string(name(data_type_of<T>)));
}

template <class T>
void compare_all(Communicator& w, DataType type) {
  using Buffer = std::vector<T>;
  const auto ranks = static_cast<std::size_t>(w.size());
  const auto rank = static_cast<std::size_t>(w.rank());
  const int root = w.size() - 1;
  const bool is_root = w.rank() == root;
  const std::size_t n = 5;
  const Buffer block = some_values<T>(n, w.rank());
  const Buffer blocks = some_values<T>(n * ranks, w.rank());
  const Buffer none;
  const auto max = ReduceOperator::max;
  std::vector<std::size_t> counts(ranks);
  std::iota(counts.begin(), counts.end(), std::size_t{1});
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const Buffer ragged = some_values<T>(total, w.rank());
  const Buffer own = some_values<T>(counts[rank], w.rank());
  const std::vector<std::size_t> sent(ranks, counts[rank]);
  const std::vector<std::size_t> displacements = [&] {
    std::vector<std::size_t> begins(ranks);
    for (std::size_t r = 0; r < ranks; ++r) begins[r] = (ranks - 1 - r) * counts[rank];
    return begins;
  }();
  const Buffer exchanged = some_values<T>(counts[rank] * ranks, w.rank());

  compare<T>(
      "all_reduce", n, [&](Buffer& out) { w.all_reduce(block, out); },
      [&](Buffer& out) { w.all_reduce(block.data(), out.data(), n, type); });
  compare<T>(
      "all_reduce in place", n, [&](Buffer& out) { w.all_reduce(out, max); },
      [&](Buffer& out) { w.all_reduce(out.data(), out.data(), n, type, max); });
  compare<T>(
      "reduce_scatter", n, [&](Buffer& out) { w.reduce_scatter(blocks, out, max); },
      [&](Buffer& out) { w.reduce_scatter(blocks.data(), out.data(), n, type, max); });
  compare<T>(
      "all_gather", n * ranks, [&](Buffer& out) { w.all_gather(block, out); },
      [&](Buffer& out) { w.all_gather(block.data(), out.data(), n, type); });
  compare<T>(
      "broadcast", n, [&](Buffer& out) { w.broadcast(is_root ? block : none, out, root); },
      [&](Buffer& out) { w.broadcast(block.data(), out.data(), n, type, root); });
  compare<T>(
      "broadcast in place", n, [&](Buffer& out) { w.broadcast(out, root); },
      [&](Buffer& out) { w.broadcast(out.data(), out.data(), n, type, root); });
  compare<T>(
      "reduce", is_root ? n : 0, [&](Buffer& out) { w.reduce(block, out, max, root); },
      [&](Buffer& out) { w.reduce(block.data(), out.data(), n, type, max, root); });
  compare<T>(
      "reduce in place", n, [&](Buffer& out) { w.reduce(out, max, root); },
      [&](Buffer& out) { w.reduce(out.data(), out.data(), n, type, max, root); });
  compare<T>(
      "all_to_all", n * ranks, [&](Buffer& out) { w.all_to_all(blocks, out); },
      [&](Buffer& out) { w.all_to_all(blocks.data(), out.data(), n, type); });
  compare<T>(
      "scatter", n, [&](Buffer& out) { w.scatter(is_root ? blocks : none, out, root); },
      [&](Buffer& out) { w.scatter(blocks.data(), out.data(), n, type, root); });
  compare<T>(
      "gather", is_root ? n * ranks : 0, [&](Buffer& out) { w.gather(block, out, root); },
      [&](Buffer& out) { w.gather(block.data(), out.data(), n, type, root); });
  compare<T>(
      "all_gather_v", total, [&](Buffer& out) { w.all_gather_v(own, out, counts); },
      [&](Buffer& out) { w.all_gather_v(own.data(), out.data(), counts, type); });
  compare<T>(
      "reduce_scatter_v", own.size(),
      [&](Buffer& out) { w.reduce_scatter_v(ragged, out, counts, max); },
      [&](Buffer& out) { w.reduce_scatter_v(ragged.data(), out.data(), counts, type, max); });
  compare<T>(
      "gather_v", is_root ? total : 0, [&](Buffer& out) { w.gather_v(own, out, counts, root); },
      [&](Buffer& out) { w.gather_v(own.data(), out.data(), counts, type, root); });
  compare<T>(
      "scatter_v", own.size(),
      [&](Buffer& out) { w.scatter_v(is_root ? ragged : none, out, counts, root); },
      [&](Buffer& out) { w.scatter_v(ragged.data(), out.data(), counts, type, root); });
  compare<T>(
      "all_to_all_v", total,
      [&](Buffer& out) {
        w.all_to_all_v(exchanged, {sent, displacements}, out, {counts, {}});
      },
      [&](Buffer& out) {
        w.all_to_all_v(exchanged.data(), {sent, displacements}, out.data(), {counts, {}}, type);
      });
  const int next = (w.rank() + 1) % w.size();
  const int previous = (w.rank() + w.size() - 1) % w.size();
  compare<T>(
      "send and recv", n,
      [&](Buffer& out) {
        Group group;
        w.send(block, next);
        w.recv(out, previous);
        group.wait();
      },
      [&](Buffer& out) {
        Group group;
        w.send(block.data(), n, type, next);
        w.recv(out.data(), n, type, previous);
        group.wait();
      });
}

template <class... T>
void compare_types(Communicator& world, Types<T...>) {
  (compare_all<T>(world, data_type_of<T>), ...);
}

TEST_CASE("typed calls give what calls on raw memory give, for every type and collective") {
  for (std::size_t i = 0; i < data_types.size(); ++i)
    CHECK(AllTypes::data_types[i] == data_types[i].type);
  const int ranks = GENERATE(1, 3);
  with_world(ranks, {}, [](Communicator& world) { compare_types(world, AllTypes{}); });
}

TEST_CASE("a user's own type is added as its DataType") {
  with_world(3, {}, [](Communicator& world) {
    std::vector<Half> values(7, Half{0x3c00});  // 1
    world.all_reduce(values);
    for (const Half& value : values)
      if (value.bits != 0x4200) throw std::runtime_error("not 3");
  });
}

TEST_CASE("asynchronous typed calls complete with the same values") {
  with_world(3, {}, [](Communicator& w) {
    const int rank = w.rank();
    const auto value = static_cast<float>(rank + 1);
    const std::vector<float> block(2, value);
    const std::vector<float> blocks(6, value);
    const std::vector<std::size_t> counts{1, 2, 3};
    const std::size_t mine = counts[static_cast<std::size_t>(rank)];
    const std::vector<float> own(mine, value);
    const std::vector<std::size_t> sent(3, mine);
    const std::vector<float> exchanged(3 * mine, value);
    const std::vector<float> all{1, 1, 2, 2, 3, 3};
    const std::vector<float> all_v{1, 2, 2, 3, 3, 3};
    const std::vector<float> untouched(6, 0);
    const auto on_root = [&](const std::vector<float>& what) {
      return rank == 0 ? what : untouched;
    };

    struct Pending {
      Work work;
      std::vector<float>& out;
      std::vector<float> expected;
    };
    std::vector<std::vector<float>> outs(18);
    const auto out = [&](std::size_t index, std::size_t size) -> std::vector<float>& {
      return outs[index] = std::vector<float>(size);
    };
    outs[1] = block;
    outs[5] = block;
    outs[7] = block;
    Pending pending[]{
        {w.all_reduce_async(block, out(0, 2)), outs[0], {6, 6}},
        {w.all_reduce_async(outs[1], ReduceOperator::max), outs[1], {3, 3}},
        {w.reduce_scatter_async(blocks, out(2, 2)), outs[2], {6, 6}},
        {w.all_gather_async(block, out(3, 6)), outs[3], all},
        {w.broadcast_async(block, out(4, 2), 0), outs[4], {1, 1}},
        {w.broadcast_async(outs[5], 0), outs[5], {1, 1}},
        {w.reduce_async(block, out(6, 2), ReduceOperator::sum, 0), outs[6],
         rank == 0 ? std::vector<float>{6, 6} : std::vector<float>{0, 0}},
        {w.reduce_async(outs[7], ReduceOperator::sum, 0), outs[7],
         rank == 0 ? std::vector<float>{6, 6} : block},
        {w.all_to_all_async(blocks, out(8, 6)), outs[8], all},
        {w.scatter_async(blocks, out(9, 2), 0), outs[9], {1, 1}},
        {w.gather_async(block, out(10, 6), 0), outs[10], on_root(all)},
        {w.all_gather_v_async(own, out(11, 6), counts), outs[11], all_v},
        {w.reduce_scatter_v_async(blocks, out(12, mine), counts), outs[12],
         std::vector<float>(mine, 6)},
        {w.gather_v_async(own, out(13, 6), counts, 0), outs[13], on_root(all_v)},
        {w.scatter_v_async(blocks, out(14, mine), counts, 0), outs[14],
         std::vector<float>(mine, 1)},
        {w.all_to_all_v_async(exchanged, {sent, {}}, out(15, 6), {counts, {}}), outs[15], all_v},
        {w.send_async(block, (rank + 1) % 3), outs[16], {}},
        {w.recv_async(out(17, 2), (rank + 2) % 3), outs[17],
         std::vector<float>(2, static_cast<float>((rank + 2) % 3 + 1))},
    };
    for (Pending& each : pending) {
      each.work.wait();
      if (each.out != each.expected)
        throw std::runtime_error("wrong values in call " + std::to_string(&each - pending));
    }
  });
}

TEST_CASE("a buffer is a vector, an array, a span, a value or Memory, and const where it is read") {
  with_world(2, {}, [](Communicator& world) {
    int one = 1;
    world.all_reduce(one);
    const int fixed = one;
    int both[2]{};
    world.all_gather(fixed, both);
    std::array<int, 2> sums{};
    world.all_reduce(std::span<const int>(both), sums);
    world.all_reduce(std::span(sums).first(1), {ReduceOperator::max});
    std::string text = world.rank() == 0 ? "hello" : "     ";
    world.broadcast(text, 0);
    const Memory memory = allocate(3 * sizeof(double) + 7);
    const std::span<double> zeros = memory.as<double>();
    world.all_reduce(zeros);
    if (one != 2 || both[1] != 2 || sums != std::array{4, 4} || text != "hello" ||
        zeros.size() != 3 || zeros[2] != 0)
      throw std::runtime_error("wrong values");
  });
}

TEST_CASE("typed calls work in place on a rank's own block, and on no elements at all") {
  with_world(3, {}, [](Communicator& world) {
    std::vector<float> all(6, static_cast<float>(world.rank() + 1));
    const auto own = std::span(all).subspan(static_cast<std::size_t>(world.rank()) * 2, 2);
    world.all_gather(own, all);
    if (all != std::vector<float>{1, 1, 2, 2, 3, 3}) throw std::runtime_error("wrong blocks");
    world.reduce_scatter(all, own);
    if (own[0] != 3 * static_cast<float>(world.rank() + 1)) throw std::runtime_error("wrong sum");

    std::vector<float> nothing;
    const std::vector<std::size_t> zeros(3, 0);
    world.all_reduce(nothing);
    world.all_gather(nothing, std::span<float>());
    world.all_to_all(nothing, nothing);
    world.gather(nothing, nothing, 2);
    world.scatter(nothing, nothing, 2);
    world.all_gather_v(nothing, nothing, zeros);
    world.all_to_all_v(nothing, {zeros, {}}, nothing, {zeros, {}});

    expect(error_of(
               [&] { world.all_reduce(std::span(all).first(3), std::span(all).last(4).first(3)); }),
           ErrorCode::invalid_argument, "overlap in part");
    expect(error_of([&] { world.all_to_all(all, all); }), ErrorCode::invalid_argument, "in place");
  });
}

}  // namespace
}  // namespace rondo
