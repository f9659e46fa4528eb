// The verifier accepts what is right and rejects every way to break it.
#include "core/schedule/verify.h"

#include "core/schedule/op.h"
#include "tests/catch.h"
#include "tests/schedule/handmade.h"

using namespace rondo;
using handmade::changed;
using handmade::listed;
using handmade::Lists;

namespace {

std::string all(const Report& report) {
  std::string words;
  for (const std::string& finding : report.findings) words += finding + "\n";
  return words;
}

bool found(const Report& report, const std::string& words) {
  return all(report).find(words) != std::string::npos;
}

/// A direct exchange: everyone sends its input to everyone and combines what it got in `order`.
Schedule exchange(const std::vector<std::vector<int>>& order) {
  const int ranks = static_cast<int>(order.size());
  Lists steps(order.size());
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Step>& own = steps[static_cast<std::size_t>(rank)];
    for (int k = 1; k < ranks; ++k) own.push_back(send((rank + k) % ranks, input(0)));
    const std::vector<int>& slots = order[static_cast<std::size_t>(rank)];
    own.push_back(copy(input(0), scratch(slots[static_cast<std::size_t>(rank)], 0)));
    for (int k = 1; k < ranks; ++k) {
      const int peer = (rank + ranks - k) % ranks;
      own.push_back(receive(peer, scratch(slots[static_cast<std::size_t>(peer)], 0)));
    }
    own.push_back(reduce(scratch(0, 0), ranks, output(0)));
  }
  return listed(Collective::all_reduce, 1, steps);
}

}  // namespace

TEST_CASE("a ring is right for any number of ranks") {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    const Report report = verify(handmade::ring(ranks));
    INFO(ranks << " ranks\n" << all(report));
    CHECK(report.ok());
    CHECK(report.exact == (ranks <= 64));
    CHECK(report.order_agrees);
    CHECK(report.rank_order == (ranks == 1));
    CHECK(report.messages == static_cast<std::uint64_t>(2 * ranks * (ranks - 1)));
  }
}

TEST_CASE("reduction order is seen") {
  const Report ranked = verify(exchange({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
  INFO(all(ranked));
  CHECK(ranked.ok());
  CHECK(ranked.rank_order);

  const Report rotated = verify(exchange({{1, 0, 2}, {1, 0, 2}, {1, 0, 2}}));
  CHECK(rotated.ok());
  CHECK_FALSE(rotated.rank_order);

  const Report mixed = verify(exchange({{0, 1, 2}, {0, 1, 2}, {1, 0, 2}}));
  CHECK_FALSE(mixed.order_agrees);
  CHECK(found(mixed, "ranks 0 and 2 combine chunk 0 in different orders"));
}

TEST_CASE("scans with a rank too many or too few, or out of order, are rejected") {
  // Rank 2 of a chain: its own value behind, or before, what rank 1 has sent.
  const auto chain = [](Collective collective, Order order, bool own) {
    std::vector<std::vector<Step>> steps(3);
    steps[0] = {send(1, input(0))};
    steps[1] = {receive_reduce(0, input(0), scratch(0, 0)), send(2, scratch(0, 0))};
    steps[2] = {own ? receive_reduce(1, input(0), output(0), order) : receive(1, output(0))};
    if (collective == Collective::scan) steps[0].push_back(copy(input(0), output(0)));
    if (collective == Collective::scan) steps[1].push_back(copy(scratch(0, 0), output(0)));
    if (collective == Collective::exclusive_scan) steps[0].push_back(send(1, input(0)));
    if (collective == Collective::exclusive_scan) steps[1].push_back(receive(0, output(0)));
    return verify(listed(collective, 1, steps));
  };
  CHECK(chain(Collective::scan, Order::received_first, true).ok());
  CHECK(chain(Collective::exclusive_scan, Order::received_first, false).ok());
  CHECK(found(chain(Collective::scan, Order::received_first, false),
              "rank 2: output chunk 0 ends with {0 1} of chunk 0, expected every rank once"));
  CHECK(found(
      chain(Collective::exclusive_scan, Order::received_first, true),
      "rank 2: output chunk 0 ends with {0 1 2} of chunk 0, expected each of the ranks 0 to 1 "
      "once of chunk 0"));
  CHECK(found(chain(Collective::scan, Order::received_first, false),
              "once of chunk 0; missing: rank 2"));
  CHECK(found(chain(Collective::scan, Order::local_first, true),
              "combines {2} of chunk 0 with {0 1} of chunk 0"));
}

TEST_CASE("mutants of the ring are rejected") {
  const Schedule ring = handmade::ring(4);

  SECTION("swapped chunk") {
    const Report report = verify(changed(ring, [](Lists& steps) { steps[1][0].from.first = 2; }));
    CHECK(found(report, "combines"));
    CHECK(found(report, "of chunk 2 with"));
  }
  SECTION("double count") {
    const Report report = verify(changed(ring, [](Lists& steps) {
      const int chunk = static_cast<int>(steps[2][1].into.first);
      steps[2].insert(steps[2].begin() + 2, {copy(input(chunk), scratch(1, chunk)),
                                             reduce(scratch(0, chunk), 2, scratch(0, chunk))});
    }));
    CHECK(found(report,
                "rank 2 lane 0 step 3 (reduce-scatter round 1): combines {1 2} of chunk 0 with "
                "{2} of chunk 0; counted twice: rank 2"));
    CHECK(found(report, "expected every rank once"));
  }
  SECTION("missing step") {
    CHECK_FALSE(verify(changed(ring, [](Lists& steps) { steps[3].pop_back(); })).ok());
    CHECK(found(verify(changed(ring, [](Lists& steps) { steps[3].pop_back(); })),
                "1 message(s) from rank 2 to rank 3 lane 0 were never received"));
    CHECK(found(verify(changed(ring, [](Lists& steps) { steps[3].erase(steps[3].begin() + 10); })),
                "rank 0 lane 0 waits to receive from 3, which has ended"));
  }
  SECTION("everyone receives first") {
    const Report report = verify(changed(ring, [](Lists& steps) {
      for (auto& own : steps) std::swap(own[0], own[1]);
    }));
    CHECK(found(report,
                "wait cycle at depth 1: rank 0 lane 0 waits to receive from 3 in "
                "reduce-scatter round 1, step 0; rank 3 lane 0 waits to receive from 2"));
  }
  SECTION("read of what was never written") {
    const Report report =
        verify(changed(ring, [](Lists& steps) { steps[0][2].from = scratch(5, 2); }));
    CHECK(found(report,
                "rank 0 lane 0 step 2 (reduce-scatter round 2): reads scratch slot 5 chunk "
                "2, which nothing has written"));
  }
  SECTION("input read after output of the same chunk was written") {
    const Report report = verify(changed(
        ring, [](Lists& steps) { steps[0].insert(steps[0].begin(), copy(input(2), output(2))); }));
    CHECK(found(report, "reads input chunk 2 after output of the same chunk was written"));
  }
  SECTION("every step left out, and every chunk changed, one at a time") {
    const Lists original = handmade::lists(ring);
    for (std::size_t rank = 0; rank < original.size(); ++rank)
      for (std::size_t i = 0; i < original[rank].size(); ++i) {
        INFO("rank " << rank << " step " << i);
        CHECK_FALSE(verify(changed(ring, [&](Lists& steps) {
                      steps[rank].erase(steps[rank].begin() + static_cast<std::ptrdiff_t>(i));
                    })).ok());
        CHECK_FALSE(verify(changed(ring, [&](Lists& steps) {
                      Step& step = steps[rank][i];
                      step.from.first = (step.from.first + 1) % 4;
                      step.into.first = (step.into.first + 1) % 4;
                    })).ok());
      }
  }
}

TEST_CASE("a double count is named, in sets and in fingerprints") {
  const Report twice = verify(listed(
      Collective::all_reduce, 1,
      {{send(1, input(0)), receive_reduce(1, input(0), scratch(0, 0)),
        copy(scratch(0, 0), output(0))},
       {copy(input(0), scratch(0, 0)), copy(input(0), scratch(1, 0)),
        reduce(scratch(0, 0), 2, scratch(2, 0)), send(0, scratch(2, 0)), receive(0, output(0))}}));
  CHECK(found(twice,
              "rank 1 lane 0 step 2 (exchange round 1): combines {1} of chunk 0 with {1} of "
              "chunk 0"));
  const Schedule large = handmade::ring(65);
  CHECK(found(verify(changed(large,
                             [](Lists& steps) {
                               Step& step = steps[64].at(2 * 64 - 1);
                               step.kind = StepKind::receive;
                             })),
              "expected every rank once of chunk"));
}

TEST_CASE("the depth that a schedule declares is checked") {
  const std::vector<Step> greedy0{send(1, input(0)), send(1, input(1)), receive(1, output(1)),
                                  receive(1, output(0))};
  std::vector<Step> all_to_all0{copy(input(0), output(0)), send(1, input(1)), send(1, input(1)),
                                receive(1, output(1)), receive(1, scratch(0, 1))};
  std::vector<Step> all_to_all1{copy(input(1), output(1)), send(0, input(0)), send(0, input(0)),
                                receive(0, output(0)), receive(0, scratch(0, 0))};
  const Lists steps{all_to_all0, all_to_all1};
  CHECK(verify(listed(Collective::all_to_all, 1, steps, 2)).ok());
  CHECK(found(verify(listed(Collective::all_to_all, 1, steps, 1)),
              "rank 0 lane 0 waits to send to 1 (channel full) in exchange round 1, step 2; rank 1 "
              "lane 0 waits to send to 0 (channel full)"));
}

TEST_CASE("lanes must not share memory") {
  Schedule two_lanes = listed(Collective::all_reduce, 1, {{}});
  two_lanes.lanes = 2;
  const Report report = verify(handmade::with(
      two_lanes, {{copy(input(0), scratch(0, 0))}, {copy(scratch(0, 0), output(0))}}));
  CHECK_FALSE(report.ok());
  two_lanes.layout.parts = 2;
  CHECK(
      verify(handmade::with(two_lanes, {{copy(input(0), output(0))}, {copy(input(1), output(1))}}))
          .ok());
  CHECK(found(
      verify(handmade::with(two_lanes, {{copy(input(0), output(0)), copy(input(1), output(1))},
                                        {copy(input(0), scratch(0, 0))}})),
      "another lane reads: wrong when in place"));
}

TEST_CASE("runs of several chunks, wrapping") {
  const Report report =
      verify(listed(Collective::all_reduce, 3,
                    {{send(1, input(2, 3)), receive_reduce(1, input(2, 3), output(2, 3))},
                     {send(0, input(2, 3)), receive_reduce(0, input(2, 3), output(2, 3))}}));
  CHECK(found(report, "ranks 0 and 1 combine chunk 2 in different orders"));
  CHECK(report.findings.size() == 3);
  CHECK(verify(listed(Collective::all_reduce, 3,
                      {{send(1, input(2, 3)), receive(1, output(1, 3))},
                       {receive_reduce(0, input(2, 3), output(2, 3)), send(0, output(1, 3))}}))
            .ok());
}

TEST_CASE("steps that make no sense are findings, not crashes") {
  const auto one = [](Step step) {
    return verify(listed(Collective::all_reduce, 1, {{step}, {}}));
  };
  CHECK(found(one(send(7, input(0))), "peer 7 is not one of 2 ranks"));
  CHECK(found(one(send(0, input(0))),
              "rank 0 lane 0 step 0 (exchange round 1): exchanges a message with itself"));
  CHECK(found(one(send(1, input(4))), "input chunk 4 is outside the layout's 1 chunks"));
  CHECK(found(one(copy(input(0), input(0))), "writes the input buffer"));
  CHECK(found(one(reduce(scratch(0, 0), 0, output(0))), "has no operand"));
  CHECK(found(one(copy(input(0), output(0, 2))), "another number of chunks"));
  Schedule header = handmade::ring(4);
  header.root = 4;
  CHECK(found(verify(header), "root 4 is not one of ranks 0 to 3"));
  header = handmade::ring(4);
  header.layout.blocks = 4;
  CHECK(found(verify(header), "all_reduce over 4 ranks has 1 block(s)"));
}

TEST_CASE("a message of another length than its receiver expects is a finding") {
  const auto received = [](std::uint32_t sent, const Step& step) {
    return verify(listed(Collective::broadcast, 4,
                         {{send(1, input(0, sent)), copy(input(0, 4), output(0, 4))}, {step}}));
  };
  CHECK(received(4, receive(0, output(0, 4))).ok());
  CHECK(found(received(1, receive(0, output(0, 4))),
              "receives a message of 1 chunk(s) from rank 0 as one of 4"));
  CHECK(found(received(4, receive(0, output(0, 2))),
              "receives a message of 4 chunk(s) from rank 0 as one of 2"));
  const Step reduces = receive_reduce(0, scratch(0, 0, 4), scratch(0, 0, 4));
  CHECK(found(received(1, reduces), "receives a message of 1 chunk(s) from rank 0 as one of 4"));
}

TEST_CASE("buffers a rank does not have are not touched") {
  Schedule broadcast =
      listed(Collective::broadcast, 1,
             {{copy(input(0), output(0)), send(1, output(0))}, {receive(0, output(0))}});
  CHECK(verify(broadcast).ok());
  broadcast =
      changed(broadcast, [](Lists& steps) { steps[1].push_back(copy(input(0), output(0))); });
  CHECK(found(verify(broadcast), "reads input chunk 0, which this rank's buffer does not have"));
  CHECK(found(verify(listed(Collective::reduce, 1,
                            {{receive_reduce(1, input(0), output(0))},
                             {copy(input(0), output(0)), send(0, input(0))}})),
              "rank 1 lane 0 step 0 (exchange round 1): writes output chunk 0, which this rank's "
              "buffer does not have"));
}
