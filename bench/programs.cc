// The programs. To add one, add a row here and its name in CMakeLists.txt.
#include <algorithm>
#include <array>

#include "bench/common/program.h"

namespace rondo::bench {
namespace {

double one(const Load&) { return 1.0; }
double twice_others(const Load& load) { return 2.0 * (load.ranks - 1.0) / load.ranks; }

/// The part of all elements that is not in a block of `size` elements.
double all_but(std::size_t size, const Load& load) {
  const std::size_t all = begin_of(load.counts, load.counts.size());
  return all == 0 ? 0.0 : static_cast<double>(all - size) / static_cast<double>(all);
}
/// The rank with the smallest block receives or sends the most.
double others(const Load& load) { return all_but(std::ranges::min(load.counts), load); }
double others_than_roots(const Load& load) {
  return all_but(load.counts[static_cast<std::size_t>(load.root)], load);
}
/// In an all-to-all each rank keeps its first block.
double others_than_kept(const Load& load) { return all_but(load.counts.front(), load); }

bool everyone(const Place&) { return true; }
bool the_root(const Place& place) { return place.rank == place.root; }

/// Every rank sends to the next one and receives from the previous one.
void send_around(Communicator& communicator, const Call& call) {
  const int ranks = communicator.size();
  const int next = (communicator.rank() + 1) % ranks;
  const int previous = (communicator.rank() + ranks - 1) % ranks;
  Group group;
  communicator.send(call.input, call.count, call.type, next);
  communicator.recv(call.output, call.count, call.type, previous);
  group.wait();
}

const std::array programs{
    Program{"all_reduce_perf", Collective::all_reduce, false, false, true, twice_others,
            [](const Place&) { return reduced(); }, everyone,
            [](Communicator& world, const Call& call) {
              world.all_reduce(call.input, call.output, call.count, call.type, call.op);
            }},
    Program{"reduce_scatter_perf", Collective::reduce_scatter, true, false, true, others,
            [](const Place& place) { return reduced(place.rank); }, everyone,
            [](Communicator& world, const Call& call) {
              world.reduce_scatter(call.input, call.output, call.count, call.type, call.op);
            },
            [](Communicator& world, const Call& call) {
              world.reduce_scatter_v(call.input, call.output, call.counts, call.type, call.op);
            }},
    Program{"all_gather_perf", Collective::all_gather, false, true, true, others,
            [](const Place& place) { return input_of(place.block); }, everyone,
            [](Communicator& world, const Call& call) {
              world.all_gather(call.input, call.output, call.count, call.type);
            },
            [](Communicator& world, const Call& call) {
              world.all_gather_v(call.input, call.output, call.counts, call.type);
            }},
    Program{"broadcast_perf", Collective::broadcast, false, false, true, one,
            [](const Place& place) { return input_of(place.root); }, the_root,
            [](Communicator& world, const Call& call) {
              world.broadcast(call.input, call.output, call.count, call.type, call.root);
            }},
    Program{"reduce_perf", Collective::reduce, false, false, true, one,
            [](const Place& place) { return the_root(place) ? reduced() : untouched(); }, everyone,
            [](Communicator& world, const Call& call) {
              world.reduce(call.input, call.output, call.count, call.type, call.op, call.root);
            }},
    Program{"scan_perf", Collective::scan, false, false, true, one,
            [](const Place& place) { return reduced_over(place.rank + 1); }, everyone,
            [](Communicator& world, const Call& call) {
              world.scan(call.input, call.output, call.count, call.type, call.op);
            }},
    Program{
        "exclusive_scan_perf", Collective::exclusive_scan, false, false, true, one,
        [](const Place& place) { return place.rank == 0 ? untouched() : reduced_over(place.rank); },
        everyone,
        [](Communicator& world, const Call& call) {
          world.exclusive_scan(call.input, call.output, call.count, call.type, call.op);
        }},
    Program{"alltoall_perf", Collective::all_to_all, true, true, false, others_than_kept,
            [](const Place& place) { return input_of(place.block, place.rank); }, everyone,
            [](Communicator& world, const Call& call) {
              world.all_to_all(call.input, call.output, call.count, call.type);
            },
            [](Communicator& world, const Call& call) {
              world.all_to_all_v(call.input, {call.counts}, call.output, {call.received},
                                 call.type);
            }},
    Program{"scatter_perf", Collective::scatter, true, false, true, others_than_roots,
            [](const Place& place) { return input_of(place.root, place.rank); }, the_root,
            [](Communicator& world, const Call& call) {
              world.scatter(call.input, call.output, call.count, call.type, call.root);
            },
            [](Communicator& world, const Call& call) {
              world.scatter_v(call.input, call.output, call.counts, call.type, call.root);
            }},
    Program{
        "gather_perf", Collective::gather, false, true, true, others_than_roots,
        [](const Place& place) { return the_root(place) ? input_of(place.block) : untouched(); },
        everyone,
        [](Communicator& world, const Call& call) {
          world.gather(call.input, call.output, call.count, call.type, call.root);
        },
        [](Communicator& world, const Call& call) {
          world.gather_v(call.input, call.output, call.counts, call.type, call.root);
        }},
    Program{
        "sendrecv_perf", Collective::send_recv, false, false, false, one,
        [](const Place& place) { return input_of((place.rank + place.ranks - 1) % place.ranks); },
        everyone, send_around},
};

}  // namespace

const Program* find_program(std::string_view name) {
  const auto row = std::find_if(programs.begin(), programs.end(),
                                [&](const Program& program) { return program.name == name; });
  return row == programs.end() ? nullptr : &*row;
}

}  // namespace rondo::bench
