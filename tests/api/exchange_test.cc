// all_to_all_v: blocks against what each pair agreed on, alone and among other calls.
#include <cstdlib>
#include <string>

#include "core/base/config.h"
#include "core/settings/settings.h"
#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"
#include "transports/table.h"

namespace rondo {
namespace {

using Sizes = std::vector<std::size_t>;

/// The block that rank `from` sends to rank `to`; some are empty.
std::size_t between(int from, int to, std::size_t scale) {
  const auto mixed = static_cast<std::size_t>(from * 7 + to * 3 + 1);
  return mixed % 4 == 0 ? 0 : mixed % 11 * scale + mixed % 3;
}

/// Blocks of int32 in reverse order with gaps, or packed.
test::Trial exchange(int ranks, bool packed, std::size_t scale, unsigned salt = 0) {
  return {{.call = {.type = DataType::int32},
           .salt = salt,
           .between = [=](int from, int to) { return between(from, to, scale); },
           .displaced = !packed},
          ranks};
}

/// Starts the exchange in this rank's memory, whose content before that is the trial's.
Work start(Communicator& comm, const test::Trial& trial, Bytes& memory) {
  const auto out = test::sent_by(trial.given(), comm.rank(), comm.size());
  const auto in = test::received_by(trial.given(), comm.rank(), comm.size());
  memory = trial.before(comm.rank());
  return comm.all_to_all_v_async(
      memory.data() + trial.input(comm.rank()), {out.counts, out.displacements},
      memory.data() + trial.output(comm.rank()), {in.counts, in.displacements}, DataType::int32);
}

/// Each transport that works here.
template <class Body>
void over_all_transports(int ranks, Body&& body) {
  const HostInfo here = describe_host(read_config());
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.obstacle(here, here).empty())
      test::with_world(ranks, {.transport = std::string(kind.name)}, body);
  }
}

TEST_CASE("all_to_all_v brings every block to its rank") {
  ::unsetenv("RONDO_SLOT_BYTES");
  const int ranks = GENERATE(1, 2, 3, 5);
  std::vector<test::Trial> trials;
  for (const bool packed : {true, false}) {
    for (const std::size_t scale : {std::size_t{0}, std::size_t{1}, std::size_t{20'011}})
      trials.push_back(exchange(ranks, packed, scale));
  }
  over_all_transports(ranks, [&](Communicator& comm) {
    test::make_calls(comm, trials);
    Bytes memory;
    Work work = start(comm, trials[1], memory);
    comm.barrier();
    work.wait();
    trials[1].check(comm.rank(), memory.data());
  });
}

TEST_CASE("ranks that wait, that look later and that run ahead make the same exchanges") {
  std::vector<test::Trial> trials;
  for (unsigned round = 0; round < 20; ++round)  // more than a channel holds
    trials.push_back(exchange(3, round % 2 == 0, round % 5 * 100, round));
  over_all_transports(3, [&](Communicator& comm) {
    for (const int late : {0, 1, 2}) {
      if (comm.rank() != late) {
        test::make_calls(comm, trials);
        continue;
      }
      std::vector<Bytes> memories(trials.size());
      std::vector<Work> works;
      for (std::size_t i = 0; i < trials.size(); ++i)
        works.push_back(start(comm, trials[i], memories[i]));
      for (Work& work : works) work.wait();
      for (std::size_t i = 0; i < trials.size(); ++i)
        trials[i].check(comm.rank(), memories[i].data());
    }
  });
}

TEST_CASE("exchanges, collectives and messages of one group do not wait for each other") {
  test::with_world(3, {}, [](Communicator& comm) {
    const int next = (comm.rank() + 1) % 3;
    const Sizes to_next = [&] {
      Sizes counts(3, 0);
      counts[static_cast<std::size_t>(next)] = 100'000;
      return counts;
    }();
    Sizes from_previous(3, 0);
    from_previous[static_cast<std::size_t>((comm.rank() + 2) % 3)] = 100'000;
    const std::vector<int> out(100'000, comm.rank());
    std::vector<int> first(100'000);
    std::vector<int> second(100'000);
    int sum = 1;
    int note = comm.rank();
    int heard = -1;
    Group group;
    comm.all_to_all_v(out.data(), {to_next}, first.data(), {from_previous}, DataType::int32);
    comm.all_reduce(&sum, &sum, 1, DataType::int32);
    comm.send(&note, 1, DataType::int32, next);
    comm.recv(&heard, 1, DataType::int32, (comm.rank() + 2) % 3);
    comm.all_to_all_v(out.data(), {to_next}, second.data(), {from_previous}, DataType::int32);
    group.wait();
    const std::vector<int> wanted(100'000, (comm.rank() + 2) % 3);
    if (first != wanted || second != wanted || sum != 3 || heard != wanted[0])
      throw std::runtime_error("wrong data");
  });
}

}  // namespace
}  // namespace rondo
