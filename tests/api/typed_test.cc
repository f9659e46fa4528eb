// The typed calls do what those on raw memory do, for every element type.
#include <cstring>
#include <numeric>
#include <string>

#include "rondo/memory.h"
#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

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

/// A rank's buffers of a call whose type is T's.
template <class T>
struct Buffers {
  std::span<const T> in{};
  std::span<T> out{};
  std::span<T> both{};  ///< of calls in place
  test::ExchangeSide sent{};
  test::ExchangeSide received{};
};

/// The typed call of a case.
template <class T>
void call(Communicator& comm, const test::Case& given, const Buffers<T>& at) {
  const Call& is = given.call;
  const auto& [in, out, both, sent, received] = at;
  if (given.between)
    return comm.all_to_all_v(in, {sent.counts, sent.displacements}, out,
                             {received.counts, received.displacements});
  const bool ragged = !given.counts.empty();
  switch (is.collective) {
    case Collective::all_reduce:
      return given.in_place ? comm.all_reduce(both, is.op) : comm.all_reduce(in, out, is.op);
    case Collective::broadcast:
      return given.in_place ? comm.broadcast(both, is.root) : comm.broadcast(in, out, is.root);
    case Collective::reduce:
      return given.in_place ? comm.reduce(both, is.op, is.root)
                            : comm.reduce(in, out, is.op, is.root);
    case Collective::scan:
      return given.in_place ? comm.scan(both, is.op) : comm.scan(in, out, is.op);
    case Collective::exclusive_scan:
      return given.in_place ? comm.exclusive_scan(both, is.op)
                            : comm.exclusive_scan(in, out, is.op);
    case Collective::reduce_scatter:
      return ragged ? comm.reduce_scatter_v(in, out, given.counts, is.op)
                    : comm.reduce_scatter(in, out, is.op);
    case Collective::all_gather:
      return ragged ? comm.all_gather_v(in, out, given.counts) : comm.all_gather(in, out);
    case Collective::scatter:
      return ragged ? comm.scatter_v(in, out, given.counts, is.root)
                    : comm.scatter(in, out, is.root);
    case Collective::gather:
      return ragged ? comm.gather_v(in, out, given.counts, is.root) : comm.gather(in, out, is.root);
    default:
      return comm.all_to_all(in, out);
  }
}

/// The same without waiting.
template <class T>
Work start(Communicator& comm, const test::Case& given, const Buffers<T>& at) {
  const Call& is = given.call;
  const auto& [in, out, both, sent, received] = at;
  if (given.between)
    return comm.all_to_all_v_async(in, {sent.counts, sent.displacements}, out,
                                   {received.counts, received.displacements});
  const bool ragged = !given.counts.empty();
  switch (is.collective) {
    case Collective::all_reduce:
      return given.in_place ? comm.all_reduce_async(both, is.op)
                            : comm.all_reduce_async(in, out, is.op);
    case Collective::broadcast:
      return given.in_place ? comm.broadcast_async(both, is.root)
                            : comm.broadcast_async(in, out, is.root);
    case Collective::reduce:
      return given.in_place ? comm.reduce_async(both, is.op, is.root)
                            : comm.reduce_async(in, out, is.op, is.root);
    case Collective::scan:
      return given.in_place ? comm.scan_async(both, is.op) : comm.scan_async(in, out, is.op);
    case Collective::exclusive_scan:
      return given.in_place ? comm.exclusive_scan_async(both, is.op)
                            : comm.exclusive_scan_async(in, out, is.op);
    case Collective::reduce_scatter:
      return ragged ? comm.reduce_scatter_v_async(in, out, given.counts, is.op)
                    : comm.reduce_scatter_async(in, out, is.op);
    case Collective::all_gather:
      return ragged ? comm.all_gather_v_async(in, out, given.counts)
                    : comm.all_gather_async(in, out);
    case Collective::scatter:
      return ragged ? comm.scatter_v_async(in, out, given.counts, is.root)
                    : comm.scatter_async(in, out, is.root);
    case Collective::gather:
      return ragged ? comm.gather_v_async(in, out, given.counts, is.root)
                    : comm.gather_async(in, out, is.root);
    default:
      return comm.all_to_all_async(in, out);
  }
}

std::vector<test::Trial> trials_of(DataType type, int ranks) {
  std::vector<test::Case> cases;
  for (const ReduceOperator op : {ReduceOperator::sum, ReduceOperator::max}) {
    for (const test::Case& each : test::every_collective(5, ranks - 1, type, op))
      cases.push_back(each);
    for (const test::Case& each : test::every_scan(5, type, op)) cases.push_back(each);
  }
  std::vector<std::size_t> counts(static_cast<std::size_t>(ranks));
  std::iota(counts.begin(), counts.end(), std::size_t{1});
  for (test::Case each : test::every_ragged(counts, ranks - 1)) {
    each.call.type = each.call.accumulate = type;
    cases.push_back(each);
  }
  cases.push_back(
      {.call = {.type = type},
       .between = [](int from, int to) { return static_cast<std::size_t>(from + 2 * to); },
       .displaced = true});
  std::vector<test::Trial> trials;
  for (const test::Case& each : cases) trials.emplace_back(each, ranks);
  return trials;
}

/// Makes this rank's calls, all at once or one after the other, and checks them.
template <class T>
void check_calls(Communicator& comm, bool at_once) {
  const std::vector<test::Trial> trials = trials_of(data_type_of<T>, comm.size());
  std::vector<Bytes> memories;
  std::vector<Work> works;
  for (const test::Trial& trial : trials) {
    memories.push_back(trial.before(comm.rank()));
    const int rank = comm.rank();
    auto* const in = reinterpret_cast<T*>(memories.back().data() + trial.input(rank));
    auto* const out = reinterpret_cast<T*>(memories.back().data() + trial.output(rank));
    Buffers<T> at{.in = {in, trial.reads(rank) / sizeof(T)},
                  .out = {out, trial.writes(rank) / sizeof(T)}};
    at.both = at.in.size() > at.out.size() ? std::span<T>(in, at.in.size()) : at.out;
    if (trial.given().between) {
      at.sent = test::sent_by(trial.given(), rank, comm.size());
      at.received = test::received_by(trial.given(), rank, comm.size());
    }
    if (at_once) {
      works.push_back(start<T>(comm, trial.given(), at));
    } else {
      call<T>(comm, trial.given(), at);
    }
  }
  for (Work& work : works) work.wait();
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].check(comm.rank(), memories[i].data());
}

/// Messages round the ring.
template <class T>
void check_messages(Communicator& comm, bool at_once) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  T sent{};
  std::memset(&sent, comm.rank() + 1, sizeof(T));
  T received{};
  if (at_once) {
    Work sending = comm.send_async(sent, next);
    comm.recv_async(received, previous).wait();
    sending.wait();
  } else {
    Group group;
    comm.send(sent, next);
    comm.recv(received, previous);
    group.wait();
  }
  std::memset(&sent, previous + 1, sizeof(T));
  test::expect_that(std::memcmp(&sent, &received, sizeof(T)) == 0, "the message");
}

template <class... T>
void check_types(Communicator& world, bool at_once, Types<T...>) {
  (check_calls<T>(world, at_once), ...);
  (check_messages<T>(world, at_once), ...);
}

TEST_CASE("typed calls of every type and collective, at once and one after the other") {
  for (std::size_t i = 0; i < data_types.size(); ++i)
    CHECK(AllTypes::data_types[i] == data_types[i].type);
  const int ranks = GENERATE(1, 3);
  const bool at_once = GENERATE(false, true);
  with_world(ranks, {}, [&](Communicator& world) { check_types(world, at_once, AllTypes{}); });
}

TEST_CASE("a user's own type is added as its DataType") {
  with_world(3, {}, [](Communicator& world) {
    std::vector<Half> values(7, Half{0x3c00});  // 1
    world.all_reduce(values);
    for (const Half& value : values)
      if (value.bits != 0x4200) throw std::runtime_error("not 3");
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
