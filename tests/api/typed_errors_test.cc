// What typed calls refuse: sizes that do not fit, and what the calls on raw memory refuse.
#include <functional>
#include <string>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using test::error_of;
using test::expect;
using test::with_world;

/// A typed call with buffers of these sizes, which it refuses in these words.
struct Wrong {
  const char* name;
  std::size_t in;
  std::size_t out;
  std::size_t needed_in;
  std::size_t needed_out;
  std::function<void(Communicator&, std::vector<float>&, std::vector<float>&)> call;
  int only_on = -1;  ///< one rank; -1: each rank refuses it
};

TEST_CASE("sizes that do not fit are named, with the right ones, before anything is sent") {
  with_world(3, {}, [](Communicator& world) {
    using Values = std::vector<float>;
    const std::vector<std::size_t> counts{1, 2, 3};
    const std::size_t own = counts[static_cast<std::size_t>(world.rank())];
    const auto sum = ReduceOperator::sum;
    const Wrong cases[]{
        {"all_reduce", 4, 5, 4, 4, [](auto& w, auto& in, auto& out) { w.all_reduce(in, out); }},
        {"all_reduce", 4, 0, 4, 4,
         [](auto& w, auto& in, auto& out) { w.all_reduce_async(in, out); }},
        {"reduce_scatter", 4, 2, 6, 2,
         [](auto& w, auto& in, auto& out) { w.reduce_scatter(in, out); }},
        {"all_gather", 2, 7, 2, 6, [](auto& w, auto& in, auto& out) { w.all_gather(in, out); }},
        {"all_gather", 0, 3, 0, 0,
         [](auto& w, auto& in, auto& out) { w.all_gather_async(in, out); }},
        {"broadcast", 2, 3, 2, 2, [](auto& w, auto& in, auto& out) { w.broadcast(in, out, 1); }, 1},
        {"reduce", 2, 3, 2, 2, [=](auto& w, auto& in, auto& out) { w.reduce(in, out, sum, 2); }, 2},
        {"all_to_all", 6, 7, 6, 6, [](auto& w, auto& in, auto& out) { w.all_to_all(in, out); }},
        {"all_to_all", 7, 7, 6, 6, [](auto& w, auto& in, auto& out) { w.all_to_all(in, out); }},
        {"scatter", 7, 2, 6, 2, [](auto& w, auto& in, auto& out) { w.scatter(in, out, 0); }, 0},
        {"gather", 2, 0, 2, 6, [](auto& w, auto& in, auto& out) { w.gather(in, out, 0); }, 0},
        {"all_gather_v", own, 7, own, 6,
         [&](auto& w, auto& in, auto& out) { w.all_gather_v(in, out, counts); }},
        {"all_gather_v", 7, 6, own, 6,
         [&](auto& w, auto& in, auto& out) { w.all_gather_v_async(in, out, counts); }},
        {"reduce_scatter_v", 5, own, 6, own,
         [&](auto& w, auto& in, auto& out) { w.reduce_scatter_v(in, out, counts); }},
        {"gather_v", 7, 0, own, 0,
         [&](auto& w, auto& in, auto& out) { w.gather_v(in, out, counts, 5); }},
        {"gather_v", own, 0, own, 6,
         [&](auto& w, auto& in, auto& out) { w.gather_v(in, out, counts, 0); }, 0},
        {"scatter_v", 6, 7, 6, own,
         [&](auto& w, auto& in, auto& out) { w.scatter_v_async(in, out, counts, 0); }},
    };
    for (const Wrong& wrong : cases) {
      if (wrong.only_on >= 0 && wrong.only_on != world.rank()) continue;
      Values in(wrong.in);
      Values out(wrong.out);
      const Error error = error_of([&] { wrong.call(world, in, out); });
      expect(error, ErrorCode::invalid_argument,
             "the input has " + std::to_string(wrong.in) + " elements and the output " +
                 std::to_string(wrong.out) + ", but " + std::to_string(wrong.needed_in) + " and " +
                 std::to_string(wrong.needed_out) + " are needed on 3 ranks");
      expect(error, ErrorCode::invalid_argument, std::string("[in ") + wrong.name + " (float32)]");
      if (error.rank() != world.rank()) throw std::runtime_error("wrong rank");
    }
    world.barrier();  // and the communicator still works
  });
}

TEST_CASE("blocks that lie beyond their buffer are named before anything is sent") {
  with_world(2, {}, [](Communicator& world) {
    std::vector<int> in(4);
    std::vector<int> out(4);
    const std::vector<std::size_t> two{2, 2}, three{2, 3}, begins{0, 3}, far{0, ~std::size_t{0}};
    const auto refused = [&](const Blocks& sent, const Blocks& received) {
      return error_of([&] { world.all_to_all_v(in, sent, out, received); });
    };
    expect(refused({three, {}}, {two, {}}), ErrorCode::invalid_argument,
           "the sent block of rank 1 has 3 elements from 2 on, but the input has 4 [in "
           "all_to_all_v (int32)]");
    expect(refused({two, {}}, {two, begins}), ErrorCode::invalid_argument,
           "the received block of rank 1 has 2 elements from 3 on, but the output has 4");
    expect(refused({two, far}, {two, {}}), ErrorCode::invalid_argument, "sent block of rank 1");
    world.barrier();
  });
}

TEST_CASE("typed calls refuse what calls on raw memory refuse, in the same words") {
  with_world(2, {}, [](Communicator& world) {
    std::vector<float> values(4);
    const std::vector<std::size_t> three{1, 1, 1};
    expect(error_of([&] { world.all_gather_v(values, values, three); }),
           ErrorCode::invalid_argument, "a list of 3 counts for 2 ranks");
    expect(error_of([&] {
             world.all_to_all_v(values, {three, {}}, values, {three, {}});
           }),
           ErrorCode::invalid_argument, "3 counts of sent blocks for 2 ranks");
    expect(error_of([&] { world.gather(values, values, -1); }), ErrorCode::invalid_argument,
           "root -1 is not a rank");
    expect(error_of([&] { world.send(values, 2); }), ErrorCode::invalid_argument,
           "peer 2 is not a rank");
    expect(error_of([&] { world.all_reduce(values, ReduceOperator::bit_or); }),
           ErrorCode::invalid_argument, "combines the bits of integers");
    Communicator none;
    expect(error_of([&] { none.all_reduce(values); }), ErrorCode::invalid_usage, "empty");
  });
}

}  // namespace
}  // namespace rondo
