#include "tools/python/source/request.h"

#include <algorithm>
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

/// As whole bytes where rondo has no such type: for calls that only move.
void describe_moved(Call& call, const Buffer& block) {
  const ElementType& element = block.element();
  call.type = element.type.value_or(DataType::uint8);
  call.count = block.elements() * element.bytes / rondo::size_of(call.type);
}

void describe_reduced(Call& call, const Buffer& block, const std::string& op, const char* name) {
  const ElementType& element = block.element();
  call.op = parse(op, name);
  if (!element.type)
    refuse(name,
           "there is no arithmetic for elements of this type (" + std::to_string(element.bytes) +
               " bytes each)",
           "an array of integers or floats in this machine's byte order");
  if (element.boolean && call.op != ReduceOperator::min && call.op != ReduceOperator::max)
    refuse(name, "booleans have no " + op, "\"max\" (any) or \"min\" (all)");
  if (element.complex && call.op != ReduceOperator::sum && call.op != ReduceOperator::avg)
    refuse(name, "complex numbers have no " + op, "\"sum\" or \"avg\"");
  describe_moved(call, block);
}

void check_alike(const Buffer& larger, const Buffer& smaller, int times, const char* call) {
  const ElementType& one = larger.element();
  const ElementType& other = smaller.element();
  if (one.type != other.type || one.bytes != other.bytes || one.boolean != other.boolean ||
      one.complex != other.complex)
    refuse(call, "input and output have different element types", "give both the same one");
  if (larger.elements() == smaller.elements() * static_cast<std::size_t>(times)) return;
  const std::string sizes =
      std::to_string(larger.elements()) + " and " + std::to_string(smaller.elements());
  if (times == 1)
    refuse(call, "input and output have " + sizes + " elements", "give both the same number");
  refuse(call, "arrays of " + sizes + " elements for " + std::to_string(times) + " ranks",
         "make the larger one exactly as many times the smaller one as there are ranks");
}

/// A call from `input` to `output` where one of them is `input_times` or `output_times` blocks.
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

/// A call on one array, which `use` says what is done with.
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

}  // namespace

Request all_reduce(Place, const py::object& input, const py::object& output,
                   const std::string& op) {
  Request request = from_to(Collective::all_reduce, input, output.is_none() ? input : output, 1, 1);
  describe_reduced(request.call, request.buffers.front(), op, "all_reduce");
  return request;
}

Request reduce_scatter(Place place, const py::object& input, const py::object& output,
                       const std::string& op) {
  Request request = from_to(Collective::reduce_scatter, input, output, place.ranks, 1);
  describe_reduced(request.call, request.buffers.back(), op, "reduce_scatter");
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
               const std::string& op, int root) {
  check_root(place, root, "reduce");
  const bool is_root = place.rank == root;
  Request request =
      is_root ? from_to(Collective::reduce, input, output.is_none() ? input : output, 1, 1)
              : on_one(Collective::reduce, input, Use::read, "reduce");
  describe_reduced(request.call, request.buffers.front(), op, "reduce");
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
