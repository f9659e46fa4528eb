// Steps: a collective of GPUs on several hosts, put together from calls among fewer ranks: inside a
// host from GPU to GPU, across hosts through the hosts' memory.
//
//   all_reduce      reduce_scatter inside   all_reduce across        all_gather inside
//   reduce          reduce_scatter inside   reduce across            gather inside (1)
//   reduce_scatter  reduce_scatter inside   reduce_scatter across
//   broadcast       scatter inside (1)      broadcast across         all_gather inside
//   scatter         scatter inside (1)      scatter across
//   gather          gather across           gather inside (1)
//   all_gather      all_gather inside (2)   messages across          all_gather inside, once a host
//   all_to_all      all_to_all inside (3)   messages across
//
//   (1) on the root's host alone  (2) of its own blocks  (3) a rank gets what is for its index on all hosts
//
// reduce, and those whose blocks have another order in between, go through scratch memory in slices.
//
// Cost: N bytes over H hosts of L ranks. A rank takes N / L through its host's memory and the network
// in place of N, all ranks of a host at the same time. Of an all_to_all it takes (H-1)/H N.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan/choose.h"
#include "core/stream/request.h"
#include "core/topology/topology.h"

namespace rondo::dispatch {

/// Where a rank is: rank `index` of the `on_host` ranks of host `host`. All hosts have so many, and
/// the ranks of a host follow each other.
struct Place {
  int hosts = 2;
  int on_host = 2;
  int host = 0;
  int index = 0;

  int ranks() const { return hosts * on_host; }
};

/// None: the ranks do not lie like that, there is only one level, or a host has more ranks than reach each
/// other's memory.
std::optional<Place> place_of(const Topology& topology, int rank);

struct DeviceCopy {
  cuda::DevicePointer to = 0;
  cuda::DevicePointer from = 0;
  std::size_t bytes = 0;
};

/// What is put into the stream before the next step: copies, calls inside the host, calls across.
struct Step {
  std::vector<DeviceCopy> copies{};  ///< all of one length
  std::vector<stream::Request> inside{};
  std::vector<stream::Request> across{};
};

/// Device memory of the rank for the call that is under way.
struct Scratch {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  stream::Location where{};
};

/// What goes in slices goes through so much.
inline constexpr std::size_t scratch_bytes = std::size_t{16} << 20;
/// Smaller calls are made in one piece, through the host's memory: the steps' latencies add up. Assumed, not
/// measured.
inline constexpr std::size_t least_bytes_in_steps = std::size_t{256} << 10;

/// Whether a collective is made in steps, wherever its buffers are: the same on all ranks.
/// - Vectors of equal blocks alone.
/// - Values are added host by host, so not where their order is asked for.
/// - Averages are divided inside the host and across, which must lose nothing.
/// - Not where `selection` names algorithms for the collective, or has a schedule of the user's: the
///   host carries these.
bool is_in_steps(const Call& call, bool is_ragged, const Place& place, const Topology& around,
                 const AlgorithmSelection& selection);

/// The steps of such a call. All ranks have equally many.
std::vector<Step> steps_of(const stream::Request& request, const Place& place,
                           const Scratch& scratch);

}  // namespace rondo::dispatch
