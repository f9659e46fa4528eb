// Calls on spans, vectors, arrays and single values. The element type says the DataType.
//
//   std::vector<float> values(1000, 1.0F);
//   world.all_reduce(values);                                // in place, sum
//   world.all_reduce(values, sums, rondo::ReduceOperator::max);
//   world.all_gather(mine, all);                             // all: size() blocks like mine
//   world.broadcast(std::span(values).first(10), 0);
//
// rondo/rondo.h includes this header, and every rondo::Communicator has these calls. Each checks
// its arguments and then makes the call of the same name on raw memory. The rules of rondo/rondo.h
// hold for both. Here, too, in place means the same memory, or the rank's own block of the larger
// buffer.
//
// What is checked when a program is compiled:
// - Each element type has a DataType (data_type_of in rondo/types.h).
// - Input and output have the same element type.
// - Outputs are not const.
// - No buffer is a temporary container, which would be gone before an asynchronous call completes.
//
// What is checked in each call, before anything is sent: the sizes. A wrong one throws
// Error{invalid_argument}, which names the call, both sizes and the sizes that the call needs. The
// communicator still works. The other ranks wait for the call.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "rondo/detail/typed_call.h"
#include "rondo/operator.h"
#include "rondo/types.h"
#include "rondo/work.h"

namespace rondo {

/// What a typed call takes as a buffer:
/// - Contiguous elements: a std::span, or a variable that is a std::vector, std::array, C array ...
/// - One variable, which is a buffer of one element.
/// The calls themselves refuse element types without a DataType, in words.
template <class Argument>
concept Values = !std::is_pointer_v<std::remove_cvref_t<Argument>> &&
                 !std::is_null_pointer_v<std::remove_cvref_t<Argument>> &&
                 !std::convertible_to<Argument, Reduction> &&
                 !std::derived_from<std::remove_cvref_t<Argument>, Operator>;

/// The typed calls of Communicator, which is `Self`. Sizes are in elements, and P is the number of
/// ranks. Functions whose names end in _async return at once. Their buffers must live, and must not
/// be touched, until the Work is complete.
template <class Self>
class TypedCalls {
  template <class T>
  using Input = std::span<const std::type_identity_t<T>>;
  template <class T>
  using Output = std::span<std::type_identity_t<T>>;

 public:
  /// out[i] = how's operator over in[i] of all ranks, on every rank. out.size() == in.size().
  /// With one buffer: in place.
  void all_reduce(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("all_reduce", in, out).equal();
    self().all_reduce(c.input, c.output, c.count, c.type, how);
  }
  void all_reduce(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("all_reduce", values).equal();
    self().all_reduce(c.input, c.output, c.count, c.type, how);
  }
  Work all_reduce_async(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("all_reduce", in, out).equal();
    return self().all_reduce_async(c.input, c.output, c.count, c.type, how);
  }
  Work all_reduce_async(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("all_reduce", values).equal();
    return self().all_reduce_async(c.input, c.output, c.count, c.type, how);
  }

  /// in: P blocks. out: this rank's block, reduced. in.size() == P * out.size().
  void reduce_scatter(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("reduce_scatter", in, out).scattered();
    self().reduce_scatter(c.input, c.output, c.count, c.type, how);
  }
  Work reduce_scatter_async(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("reduce_scatter", in, out).scattered();
    return self().reduce_scatter_async(c.input, c.output, c.count, c.type, how);
  }

  /// in: this rank's block. out: the blocks of all ranks, in rank order.
  /// out.size() == P * in.size().
  void all_gather(Values auto&& in, Values auto&& out) {
    const auto c = typed<decltype(in), decltype(out)>("all_gather", in, out).gathered();
    self().all_gather(c.input, c.output, c.count, c.type);
  }
  Work all_gather_async(Values auto&& in, Values auto&& out) {
    const auto c = typed<decltype(in), decltype(out)>("all_gather", in, out).gathered();
    return self().all_gather_async(c.input, c.output, c.count, c.type);
  }

  /// out on every rank = in on `root`. in.size() == out.size() on the root. Other ranks' `in` is
  /// not looked at and may be empty. With one buffer: in place.
  void broadcast(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("broadcast", in, out).broadcasted(root);
    self().broadcast(c.input, c.output, c.count, c.type, root);
  }
  void broadcast(Values auto&& values, int root) {
    const auto c = typed<decltype(values)>("broadcast", values).broadcasted(root);
    self().broadcast(c.input, c.output, c.count, c.type, root);
  }
  Work broadcast_async(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("broadcast", in, out).broadcasted(root);
    return self().broadcast_async(c.input, c.output, c.count, c.type, root);
  }
  Work broadcast_async(Values auto&& values, int root) {
    const auto c = typed<decltype(values)>("broadcast", values).broadcasted(root);
    return self().broadcast_async(c.input, c.output, c.count, c.type, root);
  }

  /// out[i] on `root` = how's operator over in[i] of all ranks. out.size() == in.size() there.
  /// Other ranks' `out` is not touched and may be empty. With one buffer: in place on the root.
  void reduce(Values auto&& in, Values auto&& out, const Reduction& how, int root) {
    const auto c = typed<decltype(in), decltype(out)>("reduce", in, out).reduced(root);
    self().reduce(c.input, c.output, c.count, c.type, how, root);
  }
  void reduce(Values auto&& values, const Reduction& how, int root) {
    const auto c = typed<decltype(values)>("reduce", values).reduced(root);
    self().reduce(c.input, c.output, c.count, c.type, how, root);
  }
  Work reduce_async(Values auto&& in, Values auto&& out, const Reduction& how, int root) {
    const auto c = typed<decltype(in), decltype(out)>("reduce", in, out).reduced(root);
    return self().reduce_async(c.input, c.output, c.count, c.type, how, root);
  }
  Work reduce_async(Values auto&& values, const Reduction& how, int root) {
    const auto c = typed<decltype(values)>("reduce", values).reduced(root);
    return self().reduce_async(c.input, c.output, c.count, c.type, how, root);
  }

  /// out[i] = how's operator over in[i] of the ranks 0 to this one, in their order.
  /// out.size() == in.size(). With one buffer: in place.
  void scan(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("scan", in, out).equal();
    self().scan(c.input, c.output, c.count, c.type, how);
  }
  void scan(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("scan", values).equal();
    self().scan(c.input, c.output, c.count, c.type, how);
  }
  Work scan_async(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("scan", in, out).equal();
    return self().scan_async(c.input, c.output, c.count, c.type, how);
  }
  Work scan_async(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("scan", values).equal();
    return self().scan_async(c.input, c.output, c.count, c.type, how);
  }
  /// The same over the ranks below this one. Rank 0's `out` is not touched and may be empty.
  void exclusive_scan(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("exclusive_scan", in, out).scanned();
    self().exclusive_scan(c.input, c.output, c.count, c.type, how);
  }
  void exclusive_scan(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("exclusive_scan", values).scanned();
    self().exclusive_scan(c.input, c.output, c.count, c.type, how);
  }
  Work exclusive_scan_async(Values auto&& in, Values auto&& out, const Reduction& how = {}) {
    const auto c = typed<decltype(in), decltype(out)>("exclusive_scan", in, out).scanned();
    return self().exclusive_scan_async(c.input, c.output, c.count, c.type, how);
  }
  Work exclusive_scan_async(Values auto&& values, const Reduction& how = {}) {
    const auto c = typed<decltype(values)>("exclusive_scan", values).scanned();
    return self().exclusive_scan_async(c.input, c.output, c.count, c.type, how);
  }

  /// Block j of `in` goes to rank j, which gets it as block rank() of `out`. Both have P blocks of
  /// one size. In place is an error.
  void all_to_all(Values auto&& in, Values auto&& out) {
    const auto c = typed<decltype(in), decltype(out)>("all_to_all", in, out).exchanged();
    self().all_to_all(c.input, c.output, c.count, c.type);
  }
  Work all_to_all_async(Values auto&& in, Values auto&& out) {
    const auto c = typed<decltype(in), decltype(out)>("all_to_all", in, out).exchanged();
    return self().all_to_all_async(c.input, c.output, c.count, c.type);
  }

  /// Block j of the root's `in` goes to rank j's `out`. in.size() == P * out.size() on the root.
  /// Other ranks' `in` is not looked at and may be empty.
  void scatter(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("scatter", in, out).scattered(root);
    self().scatter(c.input, c.output, c.count, c.type, root);
  }
  Work scatter_async(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("scatter", in, out).scattered(root);
    return self().scatter_async(c.input, c.output, c.count, c.type, root);
  }

  /// Every rank's `in` goes to the root's `out`, in rank order. out.size() == P * in.size() on the
  /// root. Other ranks' `out` is not touched and may be empty.
  void gather(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("gather", in, out).gathered(root);
    self().gather(c.input, c.output, c.count, c.type, root);
  }
  Work gather_async(Values auto&& in, Values auto&& out, int root) {
    const auto c = typed<decltype(in), decltype(out)>("gather", in, out).gathered(root);
    return self().gather_async(c.input, c.output, c.count, c.type, root);
  }

  /// Blocks that differ in size: counts[r] elements for rank r, the same list on every rank. This
  /// rank's block has counts[rank()] elements; the buffer of all blocks has their sum.
  void all_gather_v(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts) {
    const auto c = typed<decltype(in), decltype(out)>("all_gather_v", in, out).gathered(counts);
    self().all_gather_v(c.input, c.output, counts, c.type);
  }
  void reduce_scatter_v(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts,
                        const Reduction& how = {}) {
    const auto c =
        typed<decltype(in), decltype(out)>("reduce_scatter_v", in, out).scattered(counts);
    self().reduce_scatter_v(c.input, c.output, counts, c.type, how);
  }
  void gather_v(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts,
                int root) {
    const auto c = typed<decltype(in), decltype(out)>("gather_v", in, out).gathered(counts, root);
    self().gather_v(c.input, c.output, counts, c.type, root);
  }
  void scatter_v(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts,
                 int root) {
    const auto c = typed<decltype(in), decltype(out)>("scatter_v", in, out).scattered(counts, root);
    self().scatter_v(c.input, c.output, counts, c.type, root);
  }
  Work all_gather_v_async(Values auto&& in, Values auto&& out,
                          std::span<const std::size_t> counts) {
    const auto c = typed<decltype(in), decltype(out)>("all_gather_v", in, out).gathered(counts);
    return self().all_gather_v_async(c.input, c.output, counts, c.type);
  }
  Work reduce_scatter_v_async(Values auto&& in, Values auto&& out,
                              std::span<const std::size_t> counts, const Reduction& how = {}) {
    const auto c =
        typed<decltype(in), decltype(out)>("reduce_scatter_v", in, out).scattered(counts);
    return self().reduce_scatter_v_async(c.input, c.output, counts, c.type, how);
  }
  Work gather_v_async(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts,
                      int root) {
    const auto c = typed<decltype(in), decltype(out)>("gather_v", in, out).gathered(counts, root);
    return self().gather_v_async(c.input, c.output, counts, c.type, root);
  }
  Work scatter_v_async(Values auto&& in, Values auto&& out, std::span<const std::size_t> counts,
                       int root) {
    const auto c = typed<decltype(in), decltype(out)>("scatter_v", in, out).scattered(counts, root);
    return self().scatter_v_async(c.input, c.output, counts, c.type, root);
  }

  /// Lists of this rank's own: sent.counts[r] elements go to rank r, received.counts[r] come from
  /// it. Each block must lie inside its buffer, which may be larger. In place is an error.
  void all_to_all_v(Values auto&& in, const Blocks& sent, Values auto&& out,
                    const Blocks& received) {
    const auto c =
        typed<decltype(in), decltype(out)>("all_to_all_v", in, out).contained(sent, received);
    self().all_to_all_v(c.input, sent, c.output, received, c.type);
  }
  Work all_to_all_v_async(Values auto&& in, const Blocks& sent, Values auto&& out,
                          const Blocks& received) {
    const auto c =
        typed<decltype(in), decltype(out)>("all_to_all_v", in, out).contained(sent, received);
    return self().all_to_all_v_async(c.input, sent, c.output, received, c.type);
  }

  /// One message to or from rank `peer`. Both sides need the same size and element type.
  void send(Values auto&& buffer, int peer) {
    const auto m = detail::sent<decltype(buffer)>(buffer);
    self().send(m.buffer, m.count, m.type, peer);
  }
  void recv(Values auto&& buffer, int peer) {
    const auto m = detail::received<decltype(buffer)>(buffer);
    self().recv(m.buffer, m.count, m.type, peer);
  }
  Work send_async(Values auto&& buffer, int peer) {
    const auto m = detail::sent<decltype(buffer)>(buffer);
    return self().send_async(m.buffer, m.count, m.type, peer);
  }
  Work recv_async(Values auto&& buffer, int peer) {
    const auto m = detail::received<decltype(buffer)>(buffer);
    return self().recv_async(m.buffer, m.count, m.type, peer);
  }

  // With an operator of your own (rondo/operator.h): spans of its elements, or what converts to such.
  // Sizes are as above. With one buffer: in place.

  template <class T>
  void all_reduce(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("all_reduce", own, in, out).equal();
    self().all_reduce(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  void all_reduce(Output<T> values, const OperatorOn<T>& own) {
    all_reduce(values, values, own);
  }
  template <class T>
  Work all_reduce_async(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("all_reduce", own, in, out).equal();
    return self().all_reduce_async(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  void reduce_scatter(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("reduce_scatter", own, in, out).scattered();
    self().reduce_scatter(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  Work reduce_scatter_async(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("reduce_scatter", own, in, out).scattered();
    return self().reduce_scatter_async(c.input, c.output, c.count,
                                       static_cast<const Operator&>(own));
  }
  template <class T>
  void reduce(Input<T> in, Output<T> out, const OperatorOn<T>& own, int root) {
    const auto c = typed_by("reduce", own, in, out).reduced(root);
    self().reduce(c.input, c.output, c.count, static_cast<const Operator&>(own), root);
  }
  template <class T>
  void reduce(Output<T> values, const OperatorOn<T>& own, int root) {
    reduce(values, values, own, root);
  }
  template <class T>
  Work reduce_async(Input<T> in, Output<T> out, const OperatorOn<T>& own, int root) {
    const auto c = typed_by("reduce", own, in, out).reduced(root);
    return self().reduce_async(c.input, c.output, c.count, static_cast<const Operator&>(own), root);
  }
  template <class T>
  void scan(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("scan", own, in, out).equal();
    self().scan(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  void scan(Output<T> values, const OperatorOn<T>& own) {
    scan(values, values, own);
  }
  template <class T>
  Work scan_async(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("scan", own, in, out).equal();
    return self().scan_async(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  void exclusive_scan(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("exclusive_scan", own, in, out).scanned();
    self().exclusive_scan(c.input, c.output, c.count, static_cast<const Operator&>(own));
  }
  template <class T>
  void exclusive_scan(Output<T> values, const OperatorOn<T>& own) {
    exclusive_scan(values, values, own);
  }
  template <class T>
  Work exclusive_scan_async(Input<T> in, Output<T> out, const OperatorOn<T>& own) {
    const auto c = typed_by("exclusive_scan", own, in, out).scanned();
    return self().exclusive_scan_async(c.input, c.output, c.count,
                                       static_cast<const Operator&>(own));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  template <class T>
  detail::TypedCall typed_by(const char* name, const Operator& own, std::span<const T> in,
                             std::span<T> out) {
    const detail::TypedCall call{
        .name = name,
        .elements = own.name != nullptr ? own.name : "an operator without a name",
        .rank = self().rank(),
        .ranks = static_cast<std::size_t>(self().size()),
        .input = in.data(),
        .in = in.size(),
        .output = out.data(),
        .out = out.size()};
    return call.of_elements(sizeof(T), own.element_bytes);
  }

  template <class In, class Out>
  detail::TypedCall typed(const char* name, std::remove_reference_t<In>& in,
                          std::remove_reference_t<Out>& out) {
    static_assert(std::same_as<std::remove_cv_t<detail::ElementOf<In>>,
                               std::remove_cv_t<detail::ElementOf<Out>>>,
                  "rondo: input and output have different element types");
    const auto sent = detail::sent<In>(in);
    const auto received = detail::received<Out>(out);
    return {.name = name,
            .elements = rondo::name(sent.type),
            .rank = self().rank(),
            .ranks = static_cast<std::size_t>(self().size()),
            .type = sent.type,
            .input = sent.buffer,
            .in = sent.count,
            .output = received.buffer,
            .out = received.count};
  }
  template <class Both>
  detail::TypedCall typed(const char* name, std::remove_reference_t<Both>& both) {
    return typed<Both, Both>(name, both, both);
  }
};

}  // namespace rondo
