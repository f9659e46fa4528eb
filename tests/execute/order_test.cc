// The order in which executors run the lowered programs of every algorithm, with interleaved
// passes:
//
// - There is no deadlock if channels hold as many frames as promised.
// - Both ends of a channel mean the same frames.
// - No memory is read or written out of order.
#include "core/execute/order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <tuple>

#include "algorithms/table.h"
#include "core/plan/cut.h"
#include "core/plan/lower.h"
#include "tests/catch.h"

namespace rondo {
namespace {

struct Frame {
  std::uint32_t number = 0;  ///< of the message on its channel within the pass
  std::uint64_t pass = 0;
  std::uint32_t count = 0;  ///< chunks
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Wire {
  std::deque<Frame> frames{};
  std::map<std::uint64_t, std::uint32_t> sent{};  ///< messages by pass
  std::map<std::uint64_t, std::uint32_t> received{};
};
using Wires = std::map<std::tuple<int, int, int>, Wire>;  ///< by sender, receiver, lane

/// Newest accesses to a chunk, by instance.
struct Cell {
  std::int64_t read = -1;
  std::int64_t written = -1;
};

/// One rank that runs its program as an executor does. `ahead`: how many instances it may look at.
/// It takes any of them that is ready.
class Runner {
 public:
  Runner(const Schedule& schedule, int rank, Fusion fusion, std::uint32_t interleaved,
         std::uint64_t groups)
      : rank_(rank),
        chunks_(static_cast<std::uint32_t>(schedule.layout.chunks())),
        program_(lower(schedule, rank, fusion)),
        abreast_(interleaved),
        done_(groups * interleaved * program_.ops.size()) {}

  int depth() const { return program_.depth; }
  bool finished() const { return base_.index == done_.size(); }

  /// Runs one instance, a random one of those that can run. False: none can.
  bool step(Wires& wires, std::size_t ahead, std::mt19937& random) {
    const auto ops = static_cast<std::uint32_t>(program_.ops.size());
    std::vector<Position> able;
    Position at = base_;
    for (; at.index < done_.size() && at.index < base_.index + ahead; at.advance(ops, abreast_)) {
      const auto complete = [&](std::uint64_t index) {
        REQUIRE(index < at.index);  // a window of bits tells the engine of these only
        return done_[index];
      };
      if (!done_[at.index] && ready(program_, abreast_, at, complete) && can_move(wires, at))
        able.push_back(at);
    }
    if (able.empty()) return false;
    run(wires, able[random() % able.size()]);
    while (!finished() && done_[base_.index]) base_.advance(ops, abreast_);
    return true;
  }

 private:
  Wire& in(Wires& wires, const Op& op, int peer) const { return wires[{peer, rank_, op.lane}]; }
  Wire& out(Wires& wires, const Op& op) const { return wires[{rank_, op.out_peer, op.lane}]; }

  bool can_move(Wires& wires, const Position& at) const {
    const Op& op = program_.ops[at.op];
    for (const Operand& operand : program_.operands_of(op))
      if (operand.is_channel() && in(wires, op, operand.peer).frames.empty()) return false;
    const std::size_t held = static_cast<std::size_t>(depth()) * abreast_;
    return op.out_peer < 0 || out(wires, op).frames.size() < held;
  }

  static Frame frame_of(const Op& op, std::uint64_t pass, std::uint32_t number) {
    return {.number = number, .pass = pass, .count = op.extent.count};
  }

  void run(Wires& wires, const Position& at) {
    const Op& op = program_.ops[at.op];
    const std::uint64_t pass = at.pass + at.beside;
    for (const Operand& operand : program_.operands_of(op)) {
      if (!operand.is_channel()) {
        access(operand.chunk, at, false);
        continue;
      }
      Wire& wire = in(wires, op, operand.peer);
      REQUIRE(wire.frames.front() == frame_of(op, pass, wire.received[pass]++));
      wire.frames.pop_front();
    }
    if (op.writes) access(op.into, at, true);
    if (op.out_peer >= 0) {
      Wire& wire = out(wires, op);
      wire.frames.push_back(frame_of(op, pass, wire.sent[pass]++));
    }
    done_[at.index] = true;
  }

  void access(const Chunk& run, const Position& at, bool writes) {
    const bool scratch = run.buffer == Buffer::scratch;
    const std::uint64_t place = scratch ? at.beside : at.pass + at.beside;
    const auto index = static_cast<std::int64_t>(at.index);
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const int slot = scratch ? static_cast<int>(run.slot) : -1;
      Cell& cell = cells_[{run.buffer, slot, (run.first + i) % chunks_, place}];
      REQUIRE(cell.written <= index);
      if (writes) REQUIRE(cell.read <= index);
      std::int64_t& newest = writes ? cell.written : cell.read;
      newest = std::max(newest, index);
    }
  }

  int rank_;
  std::uint32_t chunks_;
  Program program_;
  std::uint32_t abreast_;
  std::vector<bool> done_;  ///< by instance
  Position base_{};
  std::map<std::tuple<Buffer, int, std::uint32_t, std::uint64_t>, Cell> cells_{};
};

/// Ranks take turns in random order until none can go on.
void check(const Schedule& schedule, Fusion fusion, std::uint32_t interleaved, std::size_t ahead) {
  INFO(name(schedule.collective) << " " << schedule.algorithm << ", ranks " << schedule.ranks
                                 << ", interleaved " << interleaved << ", looking " << ahead
                                 << " ahead"
                                 << (fusion == Fusion::sends_from_place ? ", sending from place"
                                                                        : ""));
  std::mt19937 random(schedule.ranks);
  std::vector<Runner> runners;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    runners.emplace_back(schedule, rank, fusion, interleaved, 2);
  Wires wires;
  for (bool moved = true; moved;) {
    moved = false;
    for (Runner& runner : runners) {
      for (unsigned turns = random() % 4; turns > 0; --turns)
        moved |= runner.step(wires, ahead, random);
    }
    if (moved) continue;
    for (Runner& runner : runners) moved |= runner.step(wires, ahead, random);
  }
  for (const Runner& runner : runners) REQUIRE(runner.finished());
  for (const auto& [between, wire] : wires) REQUIRE(wire.frames.empty());
}

/// How many blocked instances the engine passes over. With one pass at a time, lanes may need to
/// get ahead of each other. Interleaved passes leave no room for that, so they must not need it.
std::size_t patience(std::uint32_t interleaved) { return interleaved == 1 ? 24 : 1; }

constexpr std::size_t window = 64;

TEST_CASE("interleaved passes wait in no circle and mix up no frames or memory: every algorithm") {
  for (const Algorithm& row : algorithms()) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 12, 17}) {
      if (row.collective == Collective::send_recv && ranks == 1) continue;
      const Schedule schedule = row.build(ranks, info(row.collective).has_root ? ranks - 1 : 0);
      const Cut cut = cut_for_wires(flow_of(schedule), std::size_t{512} << 10, 16);
      for (const Fusion fusion : {Fusion::full, Fusion::sends_from_place, Fusion::none}) {
        for (std::uint32_t interleaved = 1; interleaved <= cut.interleaved; ++interleaved) {
          check(schedule, fusion, interleaved, patience(interleaved));
          if (ranks < 8) check(schedule, fusion, interleaved, window);
        }
      }
    }
  }
}

TEST_CASE("every algorithm's programs need no more of a channel than a cut leaves to a pass") {
  for (const Algorithm& row : algorithms())
    CHECK(static_cast<std::size_t>(lower(row.build(4, 0), 0, Fusion::sends_from_place).depth) <=
          depth_of_a_pass);
}

}  // namespace
}  // namespace rondo
