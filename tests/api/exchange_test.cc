// all_to_all_v: blocks against what each pair agreed on, alone and among other calls.
#include <cstdlib>
#include <string>

#include "core/settings/settings.h"
#include "tests/api/threads.h"
#include "tests/catch.h"
#include "transports/table.h"

namespace rondo {
namespace {

using Sizes = std::vector<std::size_t>;

/// The block that rank `from` sends to rank `to`; some are empty.
std::size_t between(int from, int to, std::size_t scale) {
  const auto mixed = static_cast<std::size_t>(from * 7 + to * 3 + 1);
  return mixed % 4 == 0 ? 0 : mixed % 11 * scale + mixed % 3;
}

int value(int from, int to, std::size_t at) {
  return from * 1'000'003 + to * 1009 + static_cast<int>(at);
}

/// One rank's side of an exchange: blocks in reverse order with gaps, or packed.
struct Side {
  Sizes counts{};
  Sizes displacements{};
  std::vector<int> values{};

  Side(int rank, int ranks, bool sends, bool packed, std::size_t scale) {
    for (int peer = 0; peer < ranks; ++peer)
      counts.push_back(sends ? between(rank, peer, scale) : between(peer, rank, scale));
    std::size_t at = packed ? 0 : 5;
    displacements.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t peer = packed ? i : counts.size() - 1 - i;
      displacements[peer] = at;
      at += counts[peer] + (packed ? 0 : 3);
    }
    values.resize(at + 1, -1);
  }
  void fill(int rank, bool sent) {
    for (std::size_t peer = 0; peer < counts.size(); ++peer) {
      for (std::size_t i = 0; i < counts[peer]; ++i) {
        const int other = static_cast<int>(peer);
        values[displacements[peer] + i] = sent ? value(rank, other, i) : value(other, rank, i);
      }
    }
  }
  Blocks blocks(bool packed) const {
    return packed ? Blocks{counts} : Blocks{counts, displacements};
  }
};

void exchange(Communicator& comm, bool packed, std::size_t scale, bool deferred) {
  const int rank = comm.rank();
  Side sent(rank, comm.size(), true, packed, scale);
  Side received(rank, comm.size(), false, packed, scale);
  Side wanted = received;  // what lies between the blocks stays as it is
  sent.fill(rank, true);
  wanted.fill(rank, false);
  if (deferred) {
    Work work =
        comm.all_to_all_v_async(sent.values.data(), sent.blocks(packed), received.values.data(),
                                received.blocks(packed), DataType::int32);
    comm.barrier();
    work.wait();
  } else {
    comm.all_to_all_v(sent.values.data(), sent.blocks(packed), received.values.data(),
                      received.blocks(packed), DataType::int32);
  }
  if (received.values != wanted.values) throw std::runtime_error("wrong blocks");
}

TEST_CASE("all_to_all_v brings every block to its rank") {
  ::unsetenv("RONDO_SLOT_BYTES");
  const HostInfo here = describe_host(read_config());
  for (const TransportKind& kind : transport_kinds()) {
    if (!kind.obstacle(here, here).empty()) continue;
    for (const int ranks : {1, 2, 3, 5}) {
      test::with_world(ranks, {.transport = std::string(kind.name)}, [](Communicator& comm) {
        for (const bool packed : {true, false}) {
          for (const std::size_t scale : {std::size_t{0}, std::size_t{1}, std::size_t{20'011}})
            exchange(comm, packed, scale, scale == 1);
        }
      });
    }
  }
}

TEST_CASE("ranks that wait, that look later and that run ahead make the same exchanges") {
  constexpr int rounds = 20;  // more than a channel holds
  const HostInfo here = describe_host(read_config());
  for (const TransportKind& kind : transport_kinds()) {
    if (!kind.obstacle(here, here).empty()) continue;
    test::with_world(3, {.transport = std::string(kind.name)}, [](Communicator& comm) {
      constexpr int ranks = 3;
      for (const int late : {0, 1, 2}) {
        std::vector<Side> received;
        std::vector<Side> sent;
        std::vector<Work> works;
        for (int round = 0; round < rounds; ++round) {
          const auto scale = static_cast<std::size_t>(round % 5 * 100);
          sent.emplace_back(comm.rank(), ranks, true, round % 2 == 0, scale);
          received.emplace_back(comm.rank(), ranks, false, round % 2 == 0, scale);
          sent.back().fill(comm.rank(), true);
        }
        for (std::size_t round = 0; round < rounds; ++round) {
          const Blocks from = sent[round].blocks(round % 2 == 0);
          const Blocks to = received[round].blocks(round % 2 == 0);
          void* const output = received[round].values.data();
          if (comm.rank() == late) {
            works.push_back(comm.all_to_all_v_async(sent[round].values.data(), from, output, to,
                                                    DataType::int32));
          } else {
            comm.all_to_all_v(sent[round].values.data(), from, output, to, DataType::int32);
          }
        }
        for (Work& work : works) work.wait();
        for (std::size_t round = 0; round < rounds; ++round) {
          Side wanted(comm.rank(), ranks, false, round % 2 == 0, round % 5 * 100);
          wanted.fill(comm.rank(), false);
          if (received[round].values != wanted.values) throw std::runtime_error("wrong blocks");
        }
      }
    });
  }
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
