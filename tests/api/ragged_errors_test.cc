// Errors of ragged calls: bad arguments, and ranks that disagree.
#include <array>
#include <limits>
#include <string>

#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using Sizes = std::vector<std::size_t>;

constexpr auto i32 = DataType::int32;

/// The words of the error that `body` must throw.
template <class Body>
std::string words_of(ErrorCode code, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == code) return error.what();
    return "another code: " + std::string(error.what());
  }
  return "no error";
}

void expect_part(const std::string& words, const std::string& part) {
  if (words.find(part) == std::string::npos)
    throw std::runtime_error("\"" + part + "\" is not in \"" + words + "\"");
}

template <class Body>
void expect_bad(const std::string& part, Body&& body) {
  expect_part(words_of(ErrorCode::invalid_argument, body), part);
}

TEST_CASE("bad arguments of ragged calls are refused before anything is sent") {
  test::with_world(2, {}, [](Communicator& comm) {
    std::array<int, 100> a{};
    std::array<int, 100> b{};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto self = static_cast<std::size_t>(comm.rank());
    expect_bad("a list of 3 counts for 2 ranks", [&] {
      comm.all_gather_v(a.data(), b.data(), Sizes{1, 2, 3}, i32);
    });
    expect_bad("a list of 0 counts", [&] { comm.gather_v(a.data(), b.data(), Sizes{}, i32, 0); });
    expect_bad("exceeds the address space", [&] {
      comm.all_gather_v(a.data(), b.data(), Sizes{most, 2}, i32);
    });
    expect_bad("exceeds the address space", [&] {
      comm.all_gather_v(a.data(), b.data(), Sizes{most / 4, 2}, i32);
    });
    expect_bad("output is null", [&] { comm.all_gather_v(a.data(), nullptr, Sizes{1, 2}, i32); });
    expect_bad("input is null", [&] {
      comm.reduce_scatter_v(nullptr, b.data(), Sizes{1, 2}, i32);
    });
    expect_bad("root 2 is not a rank", [&] {
      comm.scatter_v(a.data(), b.data(), Sizes{1, 2}, i32, 2);
    });
    expect_bad("unknown data type 99", [&] {
      comm.all_gather_v(a.data(), b.data(), Sizes{1, 2, 3}, static_cast<DataType>(99));
    });
    expect_bad("unknown reduce operator 99", [&] {
      comm.reduce_scatter_v(a.data(), b.data(), Sizes{most, 2}, i32,
                            static_cast<ReduceOperator>(99));
    });
    const std::size_t other = self == 0 ? 3 : 0;  // the place of another rank's block
    expect_bad("overlap in part", [&] {
      comm.all_gather_v(a.data() + other, a.data(), Sizes{3, 4}, i32);
    });
    // For no elements there is no memory to give.
    const Sizes only_other = self == 0 ? Sizes{4, 0} : Sizes{4, 0};
    comm.all_gather_v(self == 0 ? a.data() : nullptr, b.data(), only_other, i32);
    comm.all_gather_v(a.data() + 3 * self, a.data(), Sizes{3, 4}, i32);
  });
}

TEST_CASE("bad arguments of all_to_all_v are refused before anything is sent") {
  test::with_world(2, {}, [](Communicator& comm) {
    std::array<int, 100> a{};
    std::array<int, 100> b{};
    const Sizes two{2, 2};
    const Sizes zero{0, 0};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto call = [&](const Blocks& sent, const Blocks& received, int* out) {
      comm.all_to_all_v(a.data(), sent, out, received, i32);
    };
    const Sizes one{2};
    expect_bad("1 counts of sent blocks", [&] { call({one}, {two}, b.data()); });
    expect_bad("1 displacements of received", [&] { call({two}, {two, one}, b.data()); });
    expect_bad("the buffer of received blocks is null", [&] { call({two}, {two}, nullptr); });
    const Sizes far{0, most - 1};
    expect_bad("exceeds the address space", [&] { call({two, far}, {two}, b.data()); });
    const Sizes vast{std::size_t{1} << 40, std::size_t{1} << 40};
    expect_bad("the sent block of rank 0: ", [&] { call({vast, zero}, {vast}, b.data()); });
    expect_bad("received blocks overlap", [&] {
      const Sizes close{0, 1};
      call({two}, {two, close}, b.data());
    });
    expect_bad("overlaps a received one", [&] { call({two}, {two}, a.data() + 3); });
    expect_bad("elements to itself", [&] {
      const Sizes three{3, 3};
      call({two}, {three}, b.data());
    });
    comm.all_to_all_v(nullptr, {zero}, nullptr, {zero}, i32);
    const Sizes same{0, 0};
    call({two, same}, {two}, b.data());  // one block to every rank
  });
}

/// Every rank's words; each must end with a mismatch.
template <class Body>
std::vector<std::string> disagree(int ranks, Body&& body) {
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  test::with_world(ranks, {}, [&](Communicator& comm) {
    words[static_cast<std::size_t>(comm.rank())] = words_of(ErrorCode::mismatch, [&] {
      body(comm);
      comm.barrier();
    });
  });
  return words;
}

TEST_CASE("ranks that disagree about counts are told so") {
  const auto gather = [&](Communicator& comm, const Sizes& counts) {
    std::vector<int> own(3000);
    std::vector<int> all(3000);
    comm.all_gather_v(own.data(), all.data(), counts, i32);
  };
  for (const std::string& words : disagree(3, [&](Communicator& comm) {
         gather(comm, comm.rank() == 1 ? Sizes{1, 3, 2} : Sizes{1, 2, 3});
       }))
    CHECK_NOTHROW(expect_part(words, "their lists of counts differ"));
  for (const std::string& words : disagree(2, [&](Communicator& comm) {
         gather(comm, comm.rank() == 1 ? Sizes{1000, 900} : Sizes{1000, 901});
       }))
    CHECK_NOTHROW(expect_part(words, "1901 x int32 in all"));
  for (const std::string& words : disagree(2, [&](Communicator& comm) {
         gather(comm, comm.rank() == 1 ? Sizes{7, 7} : Sizes{7, 8});
       }))
    CHECK_NOTHROW(expect_part(words, "all_gather #1 (7 x int32)"));
}

TEST_CASE("ranks that disagree about which rank gives nothing are told so") {
  const auto at_root_0 = [](Communicator& comm, bool gathers, const Sizes& counts) {
    std::array<int, 8> in{};
    std::array<int, 8> out{};
    if (gathers) return comm.gather_v(in.data(), out.data(), counts, i32, 0);
    comm.scatter_v(in.data(), out.data(), counts, i32, 0);
  };
  for (const bool gathers : {true, false}) {
    for (const int knows_of_more : {0, 1}) {
      const auto words = disagree(2, [&](Communicator& comm) {
        at_root_0(comm, gathers, Sizes{2, 2});
        at_root_0(comm, gathers, comm.rank() == knows_of_more ? Sizes{2, 1} : Sizes{2, 0});
      });
      INFO((gathers ? "gather, " : "scatter, ") << knows_of_more << " knows of more");
      for (const std::string& each : words)
        CHECK_NOTHROW(expect_part(each, gathers ? "gather_v #2" : "scatter_v #2"));
    }
  }
}

TEST_CASE("a disagreement of ranks that have nothing to do shows in the next call") {
  const auto words = disagree(2, [&](Communicator& comm) {
    std::array<int, 8> in{};
    std::array<int, 8> out{};
    comm.gather_v(in.data(), out.data(), Sizes{2, 2}, i32, 0);  // the control block is there
    const Sizes counts{comm.rank() == 0 ? std::size_t{4} : std::size_t{3}, 0};
    comm.gather_v(in.data(), out.data(), counts, i32, 0);
  });
  for (const std::string& each : words) CHECK_NOTHROW(expect_part(each, "gather_v #2"));
}

TEST_CASE("pairs that disagree in an all_to_all_v are told so") {
  for (const std::size_t other : {std::size_t{0}, std::size_t{4}}) {
    const auto words = disagree(2, [&](Communicator& comm) {
      const std::vector<int> out(10);
      std::vector<int> in(10);
      const Sizes sent{5, 5};
      const Sizes received = comm.rank() == 0 ? Sizes{5, other} : Sizes{5, 5};
      comm.all_to_all_v(out.data(), {sent}, in.data(), {received}, i32);
    });
    for (const std::string& each : words)
      CHECK_NOTHROW(expect_part(each, "receive count or type differs from the peer's send count"));
  }
}

TEST_CASE("an all_to_all_v and another call at once are a mismatch, not a wait for ever") {
  const auto words = disagree(2, [&](Communicator& comm) {
    int value = 0;
    if (comm.rank() == 0) return comm.all_reduce(&value, &value, 1, i32);
    const std::array<int, 4> out{};
    std::array<int, 4> in{};
    const Sizes two{2, 2};
    comm.all_to_all_v(out.data(), {two}, in.data(), {two}, i32);
  });
  for (const std::string& each : words) {
    CHECK_NOTHROW(expect_part(each, "all_to_all_v #1 (int32)"));
    CHECK_NOTHROW(expect_part(each, "all_reduce #1"));
  }
}

}  // namespace
}  // namespace rondo
