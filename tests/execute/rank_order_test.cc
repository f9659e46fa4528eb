// Reproducible reductions, and those in a wider type, have the bits of contributions folded one by
// one in rank order and rounded once. The bits are the same
//
// - by every algorithm that may carry them,
// - over every transport,
// - at any size and place in memory.
#include <cstdlib>
#include <cstring>

#include "algorithms/table.h"
#include "core/control/call.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/execute/folded.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"
#include "transports/table.h"

namespace rondo {
namespace {

using Bytes = test::ByteVector;
using test::make_problem;
using test::Numbers;
using test::Problem;

/// How the buffers of a call lie in memory.
struct Lie {
  bool in_place = false;
  std::size_t offset = 0;  ///< bytes after an aligned place
  bool window = false;     ///< in memory of allocate()
};

/// Memory that begins `offset` bytes after an aligned place.
class Room {
 public:
  Room(std::size_t bytes, const Lie& lie) : bytes_(bytes + lie.offset + 64), at_(lie.offset) {
    if (lie.window) window_ = allocate(bytes_.size());
  }
  std::byte* data() {
    return (window_ ? static_cast<std::byte*>(window_.data()) : bytes_.data()) + at_;
  }

 private:
  Bytes bytes_;
  Memory window_{};
  std::size_t at_;
};

/// Makes one rank's part of the call, and compares its result with what it must be.
void check(Communicator& comm, Collective collective, const Problem& problem, const Lie& lie,
           const std::string& way) {
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t element = size_of(problem.numbers.type);
  const bool scatters = collective == Collective::reduce_scatter;
  const std::size_t count = problem.expected.size() / element / (scatters ? ranks : 1);
  const int root = static_cast<int>(count % ranks);
  const std::size_t in_bytes = count * element * (scatters ? ranks : 1);
  const std::size_t first = scatters ? rank * count * element : 0;
  Room in(in_bytes, lie);
  Room out(count * element, lie);
  std::memcpy(in.data(), problem.inputs[rank].data(), in_bytes);
  std::byte* const to = lie.in_place ? in.data() + first : out.data();
  const Reduction how = problem.numbers.reduction();
  test::make_call(comm, reducing_call(collective, count, problem.numbers.type, how, root),
                  in.data(), to);
  if (collective == Collective::reduce && comm.rank() != root) return;
  if (std::memcmp(to, problem.expected.data() + first, count * element) == 0) return;
  throw std::runtime_error(
      std::string(name(collective)) + " of " + std::to_string(count) + ", " +
      problem.numbers.words() + ", by " + way + (lie.in_place ? ", in place" : "") + ", offset " +
      std::to_string(lie.offset) + (lie.window ? ", in a window" : "") + ": other bits on rank " +
      std::to_string(comm.rank()) + " of " + std::to_string(ranks));
}

constexpr std::array reducing{Collective::all_reduce, Collective::reduce_scatter,
                              Collective::reduce};

/// All problems for a number of ranks. They are made once and used by every algorithm.
std::vector<Problem> problems_of(int ranks) {
  std::vector<Problem> all;
  const auto parts = static_cast<std::size_t>(ranks);
  for (const Numbers& numbers : test::all_numbers())
    all.push_back(make_problem(numbers, ranks, 210 * parts));
  for (const std::size_t block :
       {std::size_t{1}, std::size_t{3}, std::size_t{17}, std::size_t{4099}}) {
    all.push_back(make_problem({.type = DataType::float32}, ranks, block * parts));
    all.push_back(make_problem({.type = DataType::float32, .accumulate = DataType::float64}, ranks,
                               block * parts));
    all.push_back(make_problem({.type = DataType::bfloat16, .op = ReduceOperator::avg}, ranks,
                               block * parts));
  }
  return all;
}

/// Algorithms to force, "" for none: every one whose row has the order of ranks, and direct.
std::vector<std::string> ways_over(std::string_view transport) {
  std::vector<std::string> ways{"", "all_reduce:one_shot;reduce:one_shot",
                                "all_reduce:two_shot;reduce:two_shot"};
  if (transport == "local" || transport == "shm") {
    ways.emplace_back("direct");
    ways.emplace_back("^direct");
  }
  return ways;
}

/// Checks every collective with each `stride`-th problem, in turn out of place and in place.
void check_way(int ranks, std::string_view transport, const std::string& algorithm,
               const std::vector<Problem>& problems, std::size_t stride) {
  const Options options{.transport = std::string(transport), .algorithm = algorithm};
  const std::string way = "'" + algorithm + "' over " + std::string(transport);
  test::with_world(ranks, options, [&](Communicator& comm) {
    std::size_t turn = 0;
    for (std::size_t i = stride / 2; i < problems.size(); i += stride) {
      const std::size_t element = size_of(problems[i].numbers.type);
      for (const Collective collective : reducing) {
        const bool in_place = turn++ % 2 == 1;
        check(comm, collective, problems[i],
              {.in_place = in_place, .offset = in_place ? element : 0}, way);
      }
    }
    for (const Collective collective : reducing)
      check(comm, collective, problems.back(), {.window = true}, way);
  });
}

}  // namespace

TEST_CASE("the same bits by every algorithm in rank order, over every transport") {
  ::setenv("RONDO_SLOT_BYTES", "4096", 1);
  const HostInfo here = describe_host(read_config());
  for (const int ranks : {1, 2, 3, 5}) {
    const std::vector<Problem> problems = problems_of(ranks);
    for (const TransportKind& kind : transport_kinds()) {
      if (!kind.obstacle(here, here).empty()) continue;
      for (const std::string& algorithm : ways_over(kind.name)) {
        if (ranks == 1 && algorithm == "direct") continue;  // there is no peer to reach
        INFO(ranks << " ranks, " << kind.name << ", '" << algorithm << "'");
        CHECK_NOTHROW(
            check_way(ranks, kind.name, algorithm, problems, kind.name == "local" ? 1 : 5));
      }
    }
  }
  CHECK_NOTHROW(check_way(8, "local", "^direct", problems_of(8), 3));
  ::unsetenv("RONDO_SLOT_BYTES");
}

TEST_CASE("the same bits for sizes above every crossover") {
  const int ranks = GENERATE(2, 4);
  std::vector<Problem> problems;
  for (const DataType accumulate : {DataType::float32, DataType::float64})
    problems.push_back(
        make_problem({.type = DataType::float32, .accumulate = accumulate}, ranks, 300'004));
  for (const char* transport : {"local", "shm", "tcp"}) {
    CHECK_NOTHROW(check_way(ranks, transport, "", problems, 1));
    CHECK_NOTHROW(check_way(ranks, transport, "all_reduce:two_shot;reduce:two_shot", problems, 1));
  }
}

TEST_CASE("without the mode, bits depend on the algorithm, and sums lose small values") {
  const Problem usual = make_problem({.type = DataType::float32}, 4, 4096);
  const Problem wide =
      make_problem({.type = DataType::float32, .accumulate = DataType::float64}, 4, 4096);
  CHECK(usual.inputs == wide.inputs);
  CHECK(usual.expected != wide.expected);
  std::vector<Bytes> results(4);
  test::with_world(4, {.algorithm = "ring"}, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    results[rank].resize(usual.expected.size());
    comm.all_reduce(usual.inputs[rank].data(), results[rank].data(), 4096, DataType::float32);
  });
  CHECK(results[0] == results[3]);
  CHECK(results[0] != usual.expected);
}

TEST_CASE("an algorithm that cannot keep the order is refused, except for integers") {
  for (const Reduction& how : {Reduction{ReduceOperator::sum, {}, true},
                               Reduction{ReduceOperator::sum, DataType::float64}}) {
    test::with_world(2, {.algorithm = "ring"}, [&](Communicator& comm) {
      std::vector<float> data(10, 1);
      std::string words;
      try {
        comm.all_reduce(data.data(), data.data(), data.size(), DataType::float32, how);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::configuration) words = error.what();
      }
      for (const char* part : {"ring", "rank order", "one_shot", "two_shot", "direct"}) {
        if (part == std::string("ring") || words.find(part) != std::string::npos) continue;
        throw std::runtime_error(std::string("no ") + part + " in: " + words);
      }
    });
  }
  test::with_world(3, {.algorithm = "ring", .reproducible = true}, [](Communicator& comm) {
    std::vector<int> data(10, comm.rank());
    comm.all_reduce(data.data(), data.data(), data.size(), DataType::int32);
    if (data[9] != 3) throw std::runtime_error("integers do not add up");
  });
}

TEST_CASE("settings of a communicator hold for every call that reduces floats") {
  const Numbers numbers{.type = DataType::float32, .accumulate = DataType::float64};
  const Problem problem = make_problem(numbers, 3, 999);
  const Options options{.reproducible = true, .accumulate_wide = true};
  test::with_world(3, options, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    Bytes result(problem.expected.size());
    comm.all_reduce(problem.inputs[rank].data(), result.data(), 999, DataType::float32);
    if (result != problem.expected) throw std::runtime_error("the setting has no effect");
    const std::string words = comm.describe(Collective::all_reduce, 999, DataType::float32);
    if (words.find("reproducible, accumulated in float64: contributions are added in rank order") ==
        std::string::npos)
      throw std::runtime_error(words);
    comm.broadcast(result.data(), result.data(), 999, DataType::float32, 0);
  });
}

TEST_CASE("types that nothing can be accumulated in are refused by name") {
  struct Row {
    DataType type;
    DataType accumulate;
  };
  const auto row = GENERATE(values<Row>({{DataType::float64, DataType::float32},
                                         {DataType::float32, DataType::float16},
                                         {DataType::bfloat16, DataType::float64},
                                         {DataType::int32, DataType::int64},
                                         {DataType::float16, static_cast<DataType>(77)}}));
  test::with_world(1, {}, [&](Communicator& comm) {
    std::vector<double> data(10);
    try {
      comm.all_reduce(data.data(), data.data(), 1, row.type, {ReduceOperator::sum, row.accumulate});
    } catch (const Error& error) {
      const std::string words = error.what();
      const std::string wanted = std::string(name(row.type)) + " cannot be accumulated in";
      if (error.code() == ErrorCode::invalid_argument && words.find(wanted) != std::string::npos &&
          words.find("float64 for float32") != std::string::npos)
        return;
      throw;
    }
    throw std::runtime_error("no error");
  });
}

TEST_CASE("ranks that disagree about the numbers are told so") {
  const bool wide = GENERATE(false, true);
  test::with_world(3, {}, [&](Communicator& comm) {
    std::vector<float> data(100, 1);
    Reduction how;
    if (comm.rank() == 2 && wide) how.accumulate = DataType::float64;
    if (comm.rank() == 2 && !wide) how.reproducible = true;
    try {
      comm.all_reduce(data.data(), data.data(), data.size(), DataType::float32, how);
      comm.barrier();
    } catch (const Error& error) {
      const std::string part = wide ? "accumulated in float64" : "reproducible";
      if (error.code() == ErrorCode::mismatch &&
          std::string(error.what()).find(part) != std::string::npos)
        return;
      throw;
    }
    throw std::runtime_error("no error");
  });
}

}  // namespace rondo
