// Steps of calls between the GPUs of several hosts (core/dispatch/steps.h), carried by communicators
// on host memory.
#include "core/dispatch/steps.h"

#include <array>
#include <cstring>

#include "core/communicator/access.h"
#include "core/stream/buffers.h"
#include "core/topology/generate.h"
#include "tests/catch.h"
#include "tests/support/oracle.h"
#include "tests/support/threads.h"

namespace rondo::test {
namespace {

using dispatch::Place;
using dispatch::Step;

constexpr std::array in_steps{
    Collective::all_reduce, Collective::reduce, Collective::reduce_scatter, Collective::broadcast,
    Collective::scatter,    Collective::gather, Collective::all_gather,     Collective::all_to_all};

void make(Communicator& communicator, const std::vector<stream::Request>& requests) {
  Group group;
  for (const stream::Request& each : requests) {
    if (!stream::is_message(each)) {
      detail::CommunicatorAccess::state(communicator)->call(each.call, each.input, each.output);
    } else if (each.sends) {
      communicator.send(each.input, each.call.count, each.call.type, each.peer);
    } else {
      communicator.recv(each.output, each.call.count, each.call.type, each.peer);
    }
  }
  group.wait();
}

/// The parts of a rank's communicator.
struct Parts {
  Communicator inside;
  Communicator across;

  void carry(const Step& step) {
    for (const dispatch::DeviceCopy& each : step.copies)
      std::memcpy(reinterpret_cast<void*>(each.to), reinterpret_cast<const void*>(each.from),
                  each.bytes);
    make(inside, step.inside);
    make(across, step.across);
  }
};

TEST_CASE("steps leave what the call leaves, on any hosts") {
  const auto [hosts, on_host] = GENERATE(table<int, int>({{2, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 2}}));
  const int ranks = hosts * on_host;
  std::vector<Trial> trials;
  for (const std::size_t count : {std::size_t{24}, std::size_t{37}})
    for (const int root : {0, on_host + 1, ranks - 1})
      for (const Collective collective : in_steps)
        for (const bool in_place : {false, true}) {
          if (in_place && collective == Collective::all_to_all) continue;
          // A slice of a reduce has as many elements as 5 * ranks * on_host; of others 5 to 10 of a block.
          const std::size_t several = collective == Collective::reduce ? 20 : 1;
          trials.emplace_back(Case{.call = {.count = several * count,
                                            .collective = collective,
                                            .type = DataType::int32,
                                            .root = root},
                                   .in_place = in_place},
                              ranks);
        }
  with_world(ranks, {}, [&, host_ranks = on_host](Communicator& world) {
    const int rank = world.rank();
    const Place place{ranks / host_ranks, host_ranks, rank / host_ranks, rank % host_ranks};
    Parts parts{world.split(place.host, rank), world.split(place.index, rank)};
    std::vector<std::byte> scratch(static_cast<std::size_t>(ranks) * 10 * sizeof(int));
    for (const Trial& trial : trials) {
      trial.run(rank, [&](const std::byte* input, std::byte* output) {
        stream::Request request{.call = trial.given().call, .input = input, .output = output};
        const auto is_there = [&](Buffer buffer) {
          return stream::bytes_of(request, buffer, rank, world.size()) > 0;
        };
        if (!is_there(Buffer::input)) request.input = nullptr;
        if (!is_there(Buffer::output)) request.output = nullptr;
        for (const Step& step :
             dispatch::steps_of(request, place, {scratch.data(), scratch.size(), {}}))
          parts.carry(step);
      });
    }
  });
}

TEST_CASE("a rank crosses hosts with its part of the data alone") {
  const Place place{2, 8, 0, 3};
  const auto across = [&](Collective collective, std::size_t count) {
    const stream::Request request{
        .call = {.count = count, .collective = collective, .type = DataType::int32}};
    std::size_t elements = 0;
    for (const Step& step : dispatch::steps_of(request, place, {nullptr, 4096, {}}))
      for (const stream::Request& each : step.across) elements += each.call.count;
    return elements;
  };
  CHECK(across(Collective::all_reduce, 8000) == 1000);
  CHECK(across(Collective::all_reduce, 8003) == 1000 + 3);
  CHECK(across(Collective::broadcast, 8000) == 1000);
  CHECK(across(Collective::reduce, 8003) == 1000);  // the rest goes with the root's index
  CHECK(across(Collective::scatter, 500) == 500);
  CHECK(across(Collective::gather, 500) == 500);
  CHECK(across(Collective::all_to_all, 500) == 2 * 8 * 500);  // with the other host's 8 ranks
  CHECK(across(Collective::all_gather, 500) == 2 * 500);      // sent and received
  CHECK(across(Collective::reduce_scatter, 500) == 500);
}

TEST_CASE("calls go in steps where hosts are alike, and nothing else is asked for") {
  const auto place = [](const std::vector<int>& sizes, Numbering numbering = Numbering::by_host) {
    return dispatch::place_of(on_hosts(sizes, numbering), 1);
  };
  REQUIRE(place({4, 4}));
  CHECK(place({4, 4})->on_host == 4);
  CHECK(place({4, 4})->index == 1);
  for (const std::vector<int>& sizes : {std::vector<int>{4, 3}, {1, 1, 1}, {8}, {33, 33}})
    CHECK_FALSE(place(sizes));
  CHECK_FALSE(place({4, 4}, Numbering::in_turn));

  const Topology around = on_hosts({4, 4}, Numbering::by_host);
  const auto is_in_steps = [&](Call call, std::string_view names = {}, bool is_ragged = false) {
    return dispatch::is_in_steps(call, is_ragged, *place({4, 4}), around,
                                 AlgorithmSelection(names, "a test"));
  };
  const Call large =
      reducing_call(Collective::all_reduce, 1 << 20, DataType::float32, ReduceOperator::sum);
  CHECK(is_in_steps(large));
  CHECK(is_in_steps(large, "broadcast:ring"));
  CHECK_FALSE(is_in_steps(large, "all_reduce:ring"));
  CHECK_FALSE(is_in_steps(large, {}, true));
  const auto changed = [&](auto change) {
    Call call = large;
    change(call);
    return is_in_steps(call);
  };
  CHECK(changed([](Call& call) { call.op = ReduceOperator::avg; }));
  CHECK_FALSE(changed([](Call& call) { call.count = 1000; }));
  CHECK_FALSE(changed([](Call& call) { call.reproducible = true; }));
  CHECK_FALSE(changed([](Call& call) { call.accumulate = DataType::float64; }));
  CHECK_FALSE(changed([](Call& call) { call.collective = Collective::scan; }));
  CHECK_FALSE(changed([](Call& call) {
    call.op = ReduceOperator::avg;
    call.type = call.accumulate = DataType::int32;
  }));
}

}  // namespace
}  // namespace rondo::test
