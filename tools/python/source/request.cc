#include "tools/python/source/request.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rondo_python {
namespace {

using rondo::Collective;
using rondo::DataType;
using rondo::ReduceOperator;
using Use = Buffer::Use;

ReduceOperator parse(const std::string& op, const char* call) {
  if (const auto known = rondo::parse_reduce_operator(op)) return *known;
  std::string names;
  for (const auto& row : rondo::reduce_operators)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  refuse(call, "there is no operator '" + op + "'", "one of " + names);
}

DataType parse_type(const std::string& type, const char* call) {
  if (const auto known = rondo::parse_data_type(type)) return *known;
  refuse(call, "there is no type '" + type + "' to accumulate in", "float32 or float64");
}

/// For calls that only move: elements go as bytes if rondo does not have their type.
void describe_moved(Call& call, const Buffer& block) {
  const ElementType& element = block.element();
  call.type = element.type.value_or(DataType::uint8);
  call.count = block.elements() * element.bytes / rondo::size_of(call.type);
}

void describe_reduced(Call& call, const Buffer& block, const rondo::Reduction& how,
                      const char* name) {
  const ElementType& element = block.element();
  const std::string op(rondo::name(how.op));
  call.how = how;
  if (!element.type)
    refuse(name,
           "there is no arithmetic for elements of this type (" + std::to_string(element.bytes) +
               " bytes each)",
           "an array of integers or floats in this machine's byte order");
  const bool logical =
      how.op == ReduceOperator::min || how.op == ReduceOperator::max || rondo::info(how.op).bitwise;
  if (element.boolean && !logical)
    refuse(name, "booleans have no " + op, "\"max\" (any), \"min\" (all) or \"bit_xor\"");
  if (element.complex && how.op != ReduceOperator::sum && how.op != ReduceOperator::avg)
    refuse(name, "complex numbers have no " + op, "\"sum\" or \"avg\"");
  describe_moved(call, block);
}

void check_types(const Buffer& larger, const Buffer& smaller, const char* call) {
  const ElementType& one = larger.element();
  const ElementType& other = smaller.element();
  if (one.type != other.type || one.bytes != other.bytes || one.boolean != other.boolean ||
      one.complex != other.complex)
    refuse(call, "input and output have different element types", "give both the same one");
}

void check_alike(const Buffer& larger, const Buffer& smaller, int times, const char* call) {
  check_types(larger, smaller, call);
  if (larger.elements() == smaller.elements() * static_cast<std::size_t>(times)) return;
  const std::string sizes =
      std::to_string(larger.elements()) + " and " + std::to_string(smaller.elements());
  if (times == 1)
    refuse(call, "input and output have " + sizes + " elements", "give both the same number");
  refuse(call, "arrays of " + sizes + " elements for " + std::to_string(times) + " ranks",
         "make the larger one exactly as many times the smaller one as there are ranks");
}

/// A call from `input` to `output`, which have `input_times` and `output_times` blocks.
Request from_to(Collective collective, const py::object& input, const py::object& output,
                int input_times, int output_times) {
  const char* const name = rondo::name(collective).data();
  Request request{.call = {.collective = collective}, .result = output};
  const Buffer& in = request.buffers.emplace_back(input, Use::read, name);
  const Buffer from = in;
  const Buffer& to = request.buffers.emplace_back(output, Use::write, name);
  check_alike(input_times > 1 ? from : to, input_times > 1 ? to : from,
              std::max(input_times, output_times), name);
  request.call.input = from.data();
  request.call.output = to.data();
  return request;
}

/// The sum of counts. There must be one count for each rank.
std::size_t sum_of(const Counts& counts, Place place, const char* call) {
  if (counts.size() != static_cast<std::size_t>(place.ranks))
    refuse(call,
           std::to_string(counts.size()) + " counts for " + std::to_string(place.ranks) + " ranks",
           "a count for each rank, the same list on every rank");
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

void check_elements(const Buffer& array, std::size_t wanted, const char* call) {
  if (array.elements() == wanted) return;
  refuse(call,
         "an array of " + std::to_string(array.elements()) + " elements for counts of " +
             std::to_string(wanted),
         "arrays of exactly the counts' elements");
}

/// Converts counts of the arrays' elements to counts of the type that describe_moved() chose.
Counts counts_of(const Call& call, const Buffer& array, Counts counts) {
  for (std::size_t& count : counts) count *= array.element().bytes / rondo::size_of(call.type);
  return counts;
}

/// A call in which the `larger` array has all blocks and the `smaller` has this rank's block. Null:
/// this rank does not pass it.
void describe_blocks(Request& request, Place place, const Buffer* larger, const Buffer* smaller,
                     const Counts& counts, const char* name) {
  const std::size_t all = sum_of(counts, place, name);
  const Buffer& given = larger != nullptr ? *larger : *smaller;
  if (larger != nullptr && smaller != nullptr) check_types(*larger, *smaller, name);
  if (larger != nullptr) check_elements(*larger, all, name);
  if (smaller != nullptr)
    check_elements(*smaller, counts[static_cast<std::size_t>(place.rank)], name);
  describe_moved(request.call, given);
  request.call.counts = counts_of(request.call, given, counts);
}

/// A request with both arrays, not yet described.
Request of_both(Collective collective, const py::object& input, const py::object& output,
                const char* name) {
  Request request{.call = {.collective = collective}, .result = output};
  request.call.input = request.buffers.emplace_back(input, Use::read, name).data();
  request.call.output = request.buffers.emplace_back(output, Use::write, name).data();
  return request;
}

/// A call on one array. `use`: whether it is read or written.
Request on_one(Collective collective, const py::object& array, Use use, const char* name) {
  Request request{.call = {.collective = collective}};
  const Buffer& buffer = request.buffers.emplace_back(array, use, name);
  describe_moved(request.call, buffer);
  request.call.input = buffer.data();
  request.call.output = buffer.data();
  return request;
}

void check_root(Place place, int root, const char* call) {
  if (root < 0 || root >= place.ranks)
    refuse(call,
           "rank " + std::to_string(root) + " as root of " + std::to_string(place.ranks) + " ranks",
           "0 to " + std::to_string(place.ranks - 1));
}

void check_given(const py::object& array, const char* what, const char* call) {
  if (array.is_none())
    refuse(call, std::string("the root gave no ") + what, std::string(what) + "=ARRAY on the root");
}

/// scatter_v and gather_v: all blocks lie in one array, which only the root has.
Request rooted(Collective collective, Place place, const py::object& input,
               const py::object& output, const Counts& counts, int root, const char* name) {
  check_root(place, root, name);
  const bool is_root = place.rank == root;
  const bool scatters = collective == Collective::scatter;
  if (is_root && scatters) check_given(input, "input", name);
  if (is_root && !scatters) check_given(output, "output", name);
  Request request = is_root ? of_both(collective, input, output, name)
                            : on_one(collective, scatters ? output : input,
                                     scatters ? Use::write : Use::read, name);
  const Buffer* const all = is_root ? &request.buffers[scatters ? 0 : 1] : nullptr;
  const Buffer* const own = &request.buffers[is_root && scatters ? 1 : 0];
  describe_blocks(request, place, all, own, counts, name);
  if (!is_root && scatters) request.call.input = nullptr;
  if (!is_root && !scatters) request.call.output = nullptr;
  request.call.root = root;
  return request;
}

/// Of the collectives that reduce equal arrays on every rank.
Request reduced_everywhere(Collective collective, const py::object& input, const py::object& output,
                           const std::string& op, const std::optional<std::string>& accumulate,
                           bool reproducible) {
  const std::string name(rondo::name(collective));
  Request request = from_to(collective, input, output.is_none() ? input : output, 1, 1);
  describe_reduced(request.call, request.buffers.front(),
                   reduction_of(op, accumulate, reproducible, name.c_str()), name.c_str());
  return request;
}

}  // namespace

rondo::Reduction reduction_of(const std::string& op, const std::optional<std::string>& accumulate,
                              bool reproducible, const char* call) {
  rondo::Reduction how = parse(op, call);
  if (accumulate) how.accumulate = parse_type(*accumulate, call);
  how.reproducible = reproducible;
  return how;
}

Request all_reduce(Place, const py::object& input, const py::object& output, const std::string& op,
                   const std::optional<std::string>& accumulate, bool reproducible) {
  return reduced_everywhere(Collective::all_reduce, input, output, op, accumulate, reproducible);
}

Request scan(Place, const py::object& input, const py::object& output, const std::string& op,
             const std::optional<std::string>& accumulate, bool reproducible) {
  return reduced_everywhere(Collective::scan, input, output, op, accumulate, reproducible);
}

Request exclusive_scan(Place, const py::object& input, const py::object& output,
                       const std::string& op, const std::optional<std::string>& accumulate,
                       bool reproducible) {
  return reduced_everywhere(Collective::exclusive_scan, input, output, op, accumulate,
                            reproducible);
}

Request reduce_scatter(Place place, const py::object& input, const py::object& output,
                       const std::string& op, const std::optional<std::string>& accumulate,
                       bool reproducible) {
  Request request = from_to(Collective::reduce_scatter, input, output, place.ranks, 1);
  describe_reduced(request.call, request.buffers.back(),
                   reduction_of(op, accumulate, reproducible, "reduce_scatter"), "reduce_scatter");
  return request;
}

Request all_gather(Place place, const py::object& input, const py::object& output) {
  Request request = from_to(Collective::all_gather, input, output, 1, place.ranks);
  describe_moved(request.call, request.buffers.front());
  return request;
}

Request broadcast(Place place, const py::object& array, int root) {
  check_root(place, root, "broadcast");
  Request request = on_one(Collective::broadcast, array,
                           place.rank == root ? Use::read : Use::write, "broadcast");
  request.call.root = root;
  request.result = array;
  return request;
}

Request reduce(Place place, const py::object& input, const py::object& output,
               const std::string& op, int root, const std::optional<std::string>& accumulate,
               bool reproducible) {
  check_root(place, root, "reduce");
  const bool is_root = place.rank == root;
  Request request =
      is_root ? from_to(Collective::reduce, input, output.is_none() ? input : output, 1, 1)
              : on_one(Collective::reduce, input, Use::read, "reduce");
  describe_reduced(request.call, request.buffers.front(),
                   reduction_of(op, accumulate, reproducible, "reduce"), "reduce");
  if (!is_root) request.call.output = nullptr;
  request.call.root = root;
  return request;
}

Request all_to_all(Place place, const py::object& input, const py::object& output) {
  Request request = from_to(Collective::all_to_all, input, output, 1, 1);
  const Buffer& whole = request.buffers.front();
  const auto ranks = static_cast<std::size_t>(place.ranks);
  if (whole.elements() % ranks != 0)
    refuse("all_to_all",
           std::to_string(whole.elements()) + " elements do not make equal blocks for " +
               std::to_string(ranks) + " ranks",
           "a multiple of the number of ranks");
  describe_moved(request.call, whole);
  request.call.count /= ranks;
  return request;
}

Request scatter(Place place, const py::object& input, const py::object& output, int root) {
  check_root(place, root, "scatter");
  if (place.rank == root) check_given(input, "input", "scatter");
  Request request = place.rank == root ? from_to(Collective::scatter, input, output, place.ranks, 1)
                                       : on_one(Collective::scatter, output, Use::write, "scatter");
  describe_moved(request.call, request.buffers.back());
  if (place.rank != root) request.call.input = nullptr;
  request.call.root = root;
  request.result = output;
  return request;
}

Request gather(Place place, const py::object& input, const py::object& output, int root) {
  check_root(place, root, "gather");
  if (place.rank == root) check_given(output, "output", "gather");
  Request request = place.rank == root ? from_to(Collective::gather, input, output, 1, place.ranks)
                                       : on_one(Collective::gather, input, Use::read, "gather");
  describe_moved(request.call, request.buffers.front());
  if (place.rank != root) request.call.output = nullptr;
  request.call.root = root;
  return request;
}

Request all_gather_v(Place place, const py::object& input, const py::object& output,
                     const Counts& counts) {
  const char* const name = "all_gather_v";
  Request request = of_both(Collective::all_gather, input, output, name);
  describe_blocks(request, place, &request.buffers[1], &request.buffers[0], counts, name);
  return request;
}

Request reduce_scatter_v(Place place, const py::object& input, const py::object& output,
                         const Counts& counts, const std::string& op) {
  const char* const name = "reduce_scatter_v";
  Request request = of_both(Collective::reduce_scatter, input, output, name);
  describe_blocks(request, place, &request.buffers[0], &request.buffers[1], counts, name);
  describe_reduced(request.call, request.buffers[1], parse(op, name), name);
  return request;
}

Request scatter_v(Place place, const py::object& input, const py::object& output,
                  const Counts& counts, int root) {
  Request request = rooted(Collective::scatter, place, input, output, counts, root, "scatter_v");
  request.result = output;
  return request;
}

Request gather_v(Place place, const py::object& input, const py::object& output,
                 const Counts& counts, int root) {
  return rooted(Collective::gather, place, input, output, counts, root, "gather_v");
}

Request all_to_all_v(Place place, const py::object& input, const py::object& output,
                     const Counts& sent, const Counts& received) {
  const char* const name = "all_to_all_v";
  Request request = of_both(Collective::all_to_all, input, output, name);
  const Buffer& in = request.buffers[0];
  const Buffer& out = request.buffers[1];
  check_types(in, out, name);
  check_elements(in, sum_of(sent, place, name), name);
  check_elements(out, sum_of(received, place, name), name);
  describe_moved(request.call, in);
  request.call.counts = counts_of(request.call, in, sent);
  request.call.received = counts_of(request.call, in, received);
  return request;
}

Request barrier(Place) { return {.call = {.collective = Collective::barrier}}; }

Request send(Place, const py::object& array, int peer) {
  Request request = on_one(Collective::send_recv, array, Use::read, "send");
  request.call.root = peer;
  request.call.sends = true;
  return request;
}

Request recv(Place, const py::object& array, int peer) {
  Request request = on_one(Collective::send_recv, array, Use::write, "recv");
  request.call.root = peer;
  request.result = array;
  return request;
}

}  // namespace rondo_python
