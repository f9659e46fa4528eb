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
    const Buffer part = after(output_, vector.part * index());
    const Buffer rest = after(output_, vector.whole_parts);
    steps[0].inside.push_back(first(Collective::reduce_scatter, vector.part, input_, part));
    steps[1].across.push_back(call(Collective::all_reduce, vector.part, part, part));
    if (vector.rest > 0) {
      const Buffer from = after(input_, vector.whole_parts);
      steps[0].inside.push_back(first(Collective::all_reduce, vector.rest, from, rest));
      steps[1].across.push_back(call(Collective::all_reduce, vector.rest, rest, rest));
    }
    steps[2].inside.push_back(call(Collective::all_gather, vector.part, part, output_));
    return steps;
  }

  std::vector<Step> broadcast() const {
    std::vector<Step> steps(3);
    const Vector vector = cut();
    const Buffer part = after(output_, vector.part * index());
    const Buffer rest = after(output_, vector.whole_parts);
    if (is_on_root_host())
      steps[0].inside.push_back(
          rooted(Collective::scatter, vector.part, input_, part, index_of_root()));
    steps[1].across.push_back(
        rooted(Collective::broadcast, vector.part, part, part, host_of_root()));
    if (vector.rest > 0) {
      const Buffer from = after(input_, vector.whole_parts);
      if (is_on_root_host())
        steps[0].inside.push_back(
            rooted(Collective::broadcast, vector.rest, from, rest, index_of_root()));
      steps[1].across.push_back(
          rooted(Collective::broadcast, vector.rest, rest, rest, host_of_root()));
    }
    steps[2].inside.push_back(call(Collective::all_gather, vector.part, part, output_));
    return steps;
  }

  std::vector<Step> all_gather() const {
    std::vector<Step> steps(2);
    steps[0].inside.push_back(gather_blocks_of(place_.host, input_));
    for (int host = 0; host < place_.hosts; ++host) {
      if (host == place_.host) continue;
      const Buffer block = block_of(output_, host, place_.index);
      steps[0].across.push_back(message(input_, request_.call.count, true, host));
      steps[0].across.push_back(message(block, request_.call.count, false, host));
      steps[1].inside.push_back(gather_blocks_of(host, block));
    }
    return steps;
  }

  // In slices: of each block so many elements at a time that all fit the scratch memory.

  std::vector<Step> reduce(const Scratch& scratch) const {
    // A part, and what is left: less than an element for each rank of the host.
    return in_slices(at_a_time(scratch, 2) * on_host(), scratch, &Maker::reduce_slice);
  }
  std::vector<Step> reduce_scatter(const Scratch& scratch) const {
    return in_slices(at_a_time(scratch, ranks()), scratch, &Maker::reduce_scatter_slice);
  }
  std::vector<Step> scatter(const Scratch& scratch) const {
    return in_slices(at_a_time(scratch, hosts() + ranks()), scratch, &Maker::scatter_slice);
  }
  std::vector<Step> gather(const Scratch& scratch) const {
    return in_slices(at_a_time(scratch, hosts() + ranks()), scratch, &Maker::gather_slice);
  }
  std::vector<Step> all_to_all(const Scratch& scratch) const {
    return in_slices(at_a_time(scratch, 2 * ranks()), scratch, &Maker::all_to_all_slice);
  }

 private:
  /// The vector as a part for each rank of the host, and what is left.
  struct Vector {
    std::size_t part = 0;
    std::size_t whole_parts = 0;
    std::size_t rest = 0;
  };
  Vector cut() const {
    const std::size_t count = request_.call.count;
    return {count / on_host(), count / on_host() * on_host(), count % on_host()};
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
  Request first(Collective collective, std::size_t count, const Buffer& input, const Buffer& output,
                int root = 0) const {
    Request made = rooted(collective, count, input, output, root);
    made.scale = request_.scale;
    made.scalar = request_.scalar;
    made.scalar_later = request_.scalar_later;
    return made;
  }
  Request message(const Buffer& buffer, std::size_t count, bool sends, int peer) const {
    Request made =
        call(Collective::send_recv, count, sends ? buffer : Buffer{}, sends ? Buffer{} : buffer);
    made.peer = peer;
    made.sends = sends;
    return made;
  }

  /// A rank's block of the whole input or output.
  Buffer block_of(const Buffer& whole, int host, int index) const {
    const int rank = host * place_.on_host + index;
    return after(whole, static_cast<std::size_t>(rank) * request_.call.count);
  }
  Request gather_blocks_of(int host, const Buffer& mine) const {
    return call(Collective::all_gather, request_.call.count, mine, block_of(output_, host, 0));
  }

  std::size_t hosts() const { return static_cast<std::size_t>(place_.hosts); }
  std::size_t on_host() const { return static_cast<std::size_t>(place_.on_host); }
  std::size_t ranks() const { return static_cast<std::size_t>(place_.ranks()); }
  bool is_on_root_host() const { return host_of_root() == place_.host; }
  bool is_root() const { return is_on_root_host() && index_of_root() == place_.index; }
  int host_of_root() const { return request_.call.root / place_.on_host; }
  int index_of_root() const { return request_.call.root % place_.on_host; }

  /// Elements of each of so many blocks that fit the scratch memory together. As blocks lie one after the
  /// other, they begin at multiples of 16 bytes: kernels then copy so much at a time.
  std::size_t at_a_time(const Scratch& scratch, std::size_t blocks) const {
    const std::size_t aligned = 16 / element_;
    const std::size_t most = scratch.bytes / (blocks * element_);
    return std::max<std::size_t>(1, most - most % aligned);
  }

  /// Elements [begin, begin + count) of every block, and the memory for them.
  struct Slice {
    std::size_t begin = 0;
    std::size_t count = 0;
    Buffer scratch{};
  };
  using AddSlice = void (Maker::*)(const Slice&, std::vector<Step>&) const;
  std::vector<Step> in_slices(std::size_t most, const Scratch& scratch, AddSlice add) const {
    std::vector<Step> steps;
    const std::size_t count = request_.call.count;
    for (std::size_t begin = 0; begin < count; begin += most)
      (this->*add)({begin, std::min(most, count - begin), {scratch.begin, scratch.where}}, steps);
    return steps;
  }
  /// So many elements further.
  Buffer after(const Buffer& buffer, std::size_t elements) const {
    return buffer.from(elements * element_);
  }

  /// How a slice's blocks lie in scratch memory. by_index: those of one index follow each other, so that
  /// what is for this index on all hosts lies together. by_host: as in a user's buffer.
  enum class Sorted { by_index, by_host };
  Buffer sorted(const Slice& slice, const Buffer& in, Sorted by, int host, int index) const {
    const int place =
        by == Sorted::by_index ? index * place_.hosts + host : host * place_.on_host + index;
    return after(in, static_cast<std::size_t>(place) * slice.count);
  }
  DeviceCopy copy(const Slice& slice, const Buffer& to, const Buffer& from) const {
    return {cuda::address_of(to.begin), cuda::address_of(from.begin), slice.count * element_};
  }
  /// A slice's part of that block.
  Buffer part_of(const Slice& slice, const Buffer& whole, int host, int index) const {
    return after(block_of(whole, host, index), slice.begin);
  }
  /// body(host, index) of every rank.
  template <class Body>
  void for_ranks(const Body& body) const {
    for (int index = 0; index < place_.on_host; ++index)
      for (int host = 0; host < place_.hosts; ++host) body(host, index);
  }
  /// The input's blocks, by index.
  std::vector<DeviceCopy> copies_by_index(const Slice& slice, const Buffer& to) const {
    std::vector<DeviceCopy> copies;
    for_ranks([&](int host, int index) {
      copies.push_back(copy(slice, sorted(slice, to, Sorted::by_index, host, index),
                            part_of(slice, input_, host, index)));
    });
    return copies;
  }

  void reduce_slice(const Slice& slice, std::vector<Step>& steps) const {
    Step inside;
    Step across;
    Step out;
    const std::size_t part = slice.count / on_host();
    const std::size_t rest = slice.count % on_host();
    const Buffer input = after(input_, slice.begin);
    const Buffer output = is_root() ? after(output_, slice.begin) : Buffer{};
    if (part > 0) {
      inside.inside.push_back(first(Collective::reduce_scatter, part, input, slice.scratch));
      across.across.push_back(
          rooted(Collective::reduce, part, slice.scratch, slice.scratch, host_of_root()));
      if (is_on_root_host())
        out.inside.push_back(
            rooted(Collective::gather, part, slice.scratch, output, index_of_root()));
    }
    if (rest > 0) {
      const Buffer to = after(slice.scratch, part);
      inside.inside.push_back(
          first(Collective::reduce, rest, after(input, part * on_host()), to, index_of_root()));
      if (place_.index == index_of_root())
        across.across.push_back(
            rooted(Collective::reduce, rest, to, after(output, part * on_host()), host_of_root()));
    }
    for (Step* const step : {&inside, &across, &out}) steps.push_back(std::move(*step));
  }

  void reduce_scatter_slice(const Slice& slice, std::vector<Step>& steps) const {
    const Buffer mine = sorted(slice, slice.scratch, Sorted::by_index, 0, place_.index);
    steps.push_back({.copies = copies_by_index(slice, slice.scratch),
                     .inside = {first(Collective::reduce_scatter, hosts() * slice.count,
                                      slice.scratch, mine)}});
    steps.push_back({.across = {call(Collective::reduce_scatter, slice.count, mine,
                                     after(output_, slice.begin))}});
  }

  void scatter_slice(const Slice& slice, std::vector<Step>& steps) const {
    const Buffer mine = slice.scratch;  // by host; behind it the root's, by index
    const Buffer all = after(mine, hosts() * slice.count);
    Step inside;
    if (is_root()) inside.copies = copies_by_index(slice, all);
    if (is_on_root_host())
      inside.inside.push_back(rooted(Collective::scatter, hosts() * slice.count,
                                     is_root() ? all : Buffer{}, mine, index_of_root()));
    steps.push_back(std::move(inside));
    steps.push_back({.across = {rooted(Collective::scatter, slice.count, mine,
                                       after(output_, slice.begin), host_of_root())}});
  }

  void gather_slice(const Slice& slice, std::vector<Step>& steps) const {
    const Buffer mine = slice.scratch;
    const Buffer all = after(mine, hosts() * slice.count);
    Step inside;
    Step sort;
    if (is_on_root_host())
      inside.inside.push_back(rooted(Collective::gather, hosts() * slice.count, mine,
                                     is_root() ? all : Buffer{}, index_of_root()));
    if (is_root()) {
      for_ranks([&](int host, int index) {
        sort.copies.push_back(copy(slice, part_of(slice, output_, host, index),
                                   sorted(slice, all, Sorted::by_index, host, index)));
      });
    }
    steps.push_back({.across = {rooted(Collective::gather, slice.count, after(input_, slice.begin),
                                       mine, host_of_root())}});
    steps.push_back(std::move(inside));
    steps.push_back(std::move(sort));
  }

  void all_to_all_slice(const Slice& slice, std::vector<Step>& steps) const {
    const Buffer here = slice.scratch;
    const Buffer there = after(here, ranks() * slice.count);
    steps.push_back({.copies = copies_by_index(slice, here),
                     .inside = {call(Collective::all_to_all, hosts() * slice.count, here, there)}});
    Step across;
    Step sort;
    for_ranks([&](int host, int index) {
      const Buffer from = sorted(slice, there, Sorted::by_index, host, index);
      const Buffer to = part_of(slice, output_, host, index);
      const Buffer by_host = sorted(slice, here, Sorted::by_host, host, index);
      const bool is_own = host == place_.host;
      across.copies.push_back(copy(slice, is_own ? to : by_host, from));
      if (is_own) return;
      const Buffer received = sorted(slice, there, Sorted::by_host, host, index);
      sort.copies.push_back(copy(slice, to, received));
      if (index > 0) return;
      across.across.push_back(message(by_host, on_host() * slice.count, true, host));
      across.across.push_back(message(received, on_host() * slice.count, false, host));
    });
    steps.push_back(std::move(across));
    steps.push_back(std::move(sort));
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
    case Collective::reduce:
    case Collective::reduce_scatter:
      return call.op != ReduceOperator::avg || may_average(call, place);
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter:
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
    case Collective::reduce:
      return maker.reduce(scratch);
    case Collective::scatter:
      return maker.scatter(scratch);
    case Collective::gather:
      return maker.gather(scratch);
    case Collective::all_to_all:
      return maker.all_to_all(scratch);
    default:
      return maker.reduce_scatter(scratch);
  }
}

}  // namespace rondo::dispatch
