#include "core/dispatch/steps.h"

#include <algorithm>
#include <bit>

#include "core/direct_device/flag_segment.h"
#include "core/plan/decide.h"

namespace rondo::dispatch {
namespace {

using stream::Request;

/// A buffer from some element on.
struct Buffer {
  const std::byte* begin = nullptr;
  stream::Location where{};

  Buffer from(std::size_t bytes) const {
    return begin != nullptr ? Buffer{begin + bytes, where} : *this;
  }
};

/// What the steps of one call are made of.
class Maker {
 public:
  Maker(const Request& request, const Place& place)
      : request_(request),
        place_(place),
        element_(size_of(request.call.type)),
        input_{static_cast<const std::byte*>(request.input), request.where.input},
        output_{static_cast<std::byte*>(request.output), request.where.output} {}

  std::vector<Step> all_reduce() const {
    std::vector<Step> steps(3);
    const Vector vector = cut();
    const Buffer part = output_.from(vector.part * index() * element_);
    const Buffer rest = output_.from(vector.whole_parts * element_);
    steps[0].inside.push_back(first(Collective::reduce_scatter, vector.part, input_, part));
    steps[1].across.push_back(call(Collective::all_reduce, vector.part, part, part));
    if (vector.rest > 0) {
      const Buffer from = input_.from(vector.whole_parts * element_);
      steps[0].inside.push_back(first(Collective::all_reduce, vector.rest, from, rest));
      steps[1].across.push_back(call(Collective::all_reduce, vector.rest, rest, rest));
    }
    steps[2].inside.push_back(call(Collective::all_gather, vector.part, part, output_));
    return steps;
  }

  std::vector<Step> broadcast() const {
    std::vector<Step> steps(3);
    const Vector vector = cut();
    const int host = request_.call.root / place_.on_host;
    const int index_of_root = request_.call.root % place_.on_host;
    const Buffer part = output_.from(vector.part * index() * element_);
    const Buffer rest = output_.from(vector.whole_parts * element_);
    if (host == place_.host)
      steps[0].inside.push_back(
          rooted(Collective::scatter, vector.part, input_, part, index_of_root));
    steps[1].across.push_back(rooted(Collective::broadcast, vector.part, part, part, host));
    if (vector.rest > 0) {
      const Buffer from = input_.from(vector.whole_parts * element_);
      if (host == place_.host)
        steps[0].inside.push_back(
            rooted(Collective::broadcast, vector.rest, from, rest, index_of_root));
      steps[1].across.push_back(rooted(Collective::broadcast, vector.rest, rest, rest, host));
    }
    steps[2].inside.push_back(call(Collective::all_gather, vector.part, part, output_));
    return steps;
  }

  std::vector<Step> all_gather() const {
    std::vector<Step> steps(2);
    steps[0].inside.push_back(gather_blocks_of(place_.host, input_));
    for (int host = 0; host < place_.hosts; ++host) {
      if (host == place_.host) continue;
      const Buffer block = block_of(host, place_.index);
      steps[0].across.push_back(message(input_, true, host));
      steps[0].across.push_back(message(block, false, host));
      steps[1].inside.push_back(gather_blocks_of(host, block));
    }
    return steps;
  }

  std::vector<Step> reduce_scatter(const Scratch& scratch) const {
    std::vector<Step> steps;
    const std::size_t count = request_.call.count;
    const auto ranks = static_cast<std::size_t>(place_.ranks());
    const std::size_t most = std::max<std::size_t>(1, scratch.bytes / (ranks * element_));
    for (std::size_t begin = 0; begin < count; begin += most)
      add_slice(begin, std::min(most, count - begin), scratch, steps);
    return steps;
  }

 private:
  /// The vector as a part for each rank of the host, and what is left.
  struct Vector {
    std::size_t part = 0;
    std::size_t whole_parts = 0;
    std::size_t rest = 0;
  };
  Vector cut() const {
    const auto parts = static_cast<std::size_t>(place_.on_host);
    const std::size_t count = request_.call.count;
    return {count / parts, count / parts * parts, count % parts};
  }
  std::size_t index() const { return static_cast<std::size_t>(place_.index); }

  Request rooted(Collective collective, std::size_t count, const Buffer& input,
                 const Buffer& output, int root) const {
    Request made;
    made.call = request_.call;
    made.call.collective = collective;
    made.call.count = count;
    made.call.root = root;
    made.input = input.begin;
    made.output = const_cast<std::byte*>(output.begin);
    made.where = {input.where, output.where};
    made.stream = request_.stream;
    return made;
  }
  Request call(Collective collective, std::size_t count, const Buffer& input,
               const Buffer& output) const {
    return rooted(collective, count, input, output, 0);
  }
  /// The step that reads what the program gave, and scales it first if it is to be scaled.
  Request first(Collective collective, std::size_t count, const Buffer& input,
                const Buffer& output) const {
    Request made = call(collective, count, input, output);
    made.scale = request_.scale;
    made.scalar = request_.scalar;
    made.scalar_later = request_.scalar_later;
    return made;
  }
  Request message(const Buffer& buffer, bool sends, int peer) const {
    Request made = call(Collective::send_recv, request_.call.count, sends ? buffer : Buffer{},
                        sends ? Buffer{} : buffer);
    made.peer = peer;
    made.sends = sends;
    return made;
  }

  /// A rank's block of the whole output.
  Buffer block_of(int host, int index) const {
    const int rank = host * place_.on_host + index;
    return output_.from(static_cast<std::size_t>(rank) * request_.call.count * element_);
  }
  Request gather_blocks_of(int host, const Buffer& mine) const {
    return call(Collective::all_gather, request_.call.count, mine, block_of(host, 0));
  }

  /// Elements [begin, begin + count) of every block. In the scratch memory they lie in the order of
  /// (rank of a host, host): a rank of this host then gets what its place on all hosts is to have.
  void add_slice(std::size_t begin, std::size_t count, const Scratch& scratch,
                 std::vector<Step>& steps) const {
    const auto hosts = static_cast<std::size_t>(place_.hosts);
    const auto on_host = static_cast<std::size_t>(place_.on_host);
    const Buffer all{scratch.begin, scratch.where};
    Step inside;
    for (std::size_t index = 0; index < on_host; ++index) {
      for (std::size_t host = 0; host < hosts; ++host) {
        const std::size_t block = host * on_host + index;
        const Buffer from = input_.from((block * request_.call.count + begin) * element_);
        const Buffer to = all.from((index * hosts + host) * count * element_);
        inside.copies.push_back(
            {cuda::address_of(to.begin), cuda::address_of(from.begin), count * element_});
      }
    }
    const Buffer mine = all.from(index() * hosts * count * element_);
    inside.inside.push_back(first(Collective::reduce_scatter, hosts * count, all, mine));
    Step across;
    across.across.push_back(
        call(Collective::reduce_scatter, count, mine, output_.from(begin * element_)));
    steps.push_back(std::move(inside));
    steps.push_back(std::move(across));
  }

  const Request& request_;
  const Place place_;
  const std::size_t element_;
  const Buffer input_;
  const Buffer output_;
};

/// Divided by the ranks of a host, and then by the hosts. For floats the first is exact by a power of
/// two, unless it is too small a number.
bool may_average(const Call& call, const Place& place) {
  return is_float(call.type) && std::has_single_bit(static_cast<unsigned>(place.on_host));
}

}  // namespace

std::optional<Place> place_of(const Topology& topology, int rank) {
  const Hosts hosts(topology);
  const int on_host = hosts.size(0);
  if (hosts.count() < 2 || on_host < 2 || on_host > direct_device::most_ranks) return std::nullopt;
  for (int each = 0; each < topology.ranks; ++each) {
    if (hosts.size(hosts.host_of(each)) != on_host || hosts.host_of(each) != each / on_host)
      return std::nullopt;
  }
  return Place{hosts.count(), on_host, rank / on_host, rank % on_host};
}

bool is_in_steps(const Call& call, bool is_ragged, const Place& place, const Topology& around,
                 const AlgorithmSelection& selection) {
  if (is_ragged || call.own != nullptr || wants_rank_order(call)) return false;
  if (index_space_bytes(call, place.ranks()) < least_bytes_in_steps) return false;
  if (selection.restricts(call.collective) ||
      find_written(call.collective, size_of(call, {}, place.ranks()), around, selection))
    return false;
  switch (call.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return call.op != ReduceOperator::avg || may_average(call, place);
    case Collective::all_gather:
    case Collective::broadcast:
      return true;
    default:
      return false;
  }
}

std::vector<Step> steps_of(const Request& request, const Place& place, const Scratch& scratch) {
  const Maker maker(request, place);
  switch (request.call.collective) {
    case Collective::all_reduce:
      return maker.all_reduce();
    case Collective::broadcast:
      return maker.broadcast();
    case Collective::all_gather:
      return maker.all_gather();
    default:
      return maker.reduce_scatter(scratch);
  }
}

}  // namespace rondo::dispatch
