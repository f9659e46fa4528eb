// Calls in which each rank passes a list of tensors, one for each rank; and all-to-all.
#include <algorithm>
#include <utility>

#include "tools/torch/source/backend.h"
#include "tools/torch/source/tensors.h"

namespace rondo_torch {
namespace {

using rondo::Collective;

/// The list of one rank, checked: torch passes lists of lists.
Tensors& only_list(Lists& lists, int size, const char* call) {
  check_equal_numbers(lists.size(), 1, call);
  check_equal_numbers(lists.front().size(), static_cast<std::size_t>(size), call);
  for (const at::Tensor& tensor : lists.front()) check_tensor(tensor, call);
  return lists.front();
}

bool equally_long(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    return tensor.numel() == tensors.front().numel();
  });
}

/// The elements of each tensor, as rondo's call counts them.
std::vector<std::size_t> moved_counts(const Tensors& tensors) {
  std::vector<std::size_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(to_move(tensor).count);
  return counts;
}

/// One buffer for the list: the list's own memory if that is contiguous, otherwise a new one.
at::Tensor whole_of(const Tensors& tensors) {
  at::Tensor whole = joined(tensors);
  if (whole.defined()) return whole;
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return at::empty({elements}, tensors.front().options());
}

void copy_out(const at::Tensor& whole, const Tensors& tensors) {
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    tensor.view({-1}).copy_(whole.narrow(0, offset, tensor.numel()));
    offset += tensor.numel();
  }
}

void copy_in(const at::Tensor& whole, const Tensors& tensors) {
  const at::NoGradGuard no_gradient;
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    whole.narrow(0, offset, tensor.numel()).copy_(tensor.view({-1}));
    offset += tensor.numel();
  }
}

/// Like `whole_of`, with the tensors' values in it.
at::Tensor filled(const Tensors& tensors) {
  at::Tensor whole = whole_of(tensors);
  if (!whole.is_alias_of(tensors.front())) copy_in(whole, tensors);
  return whole;
}

/// If the list's own memory is not contiguous, copies the values there at the end.
void scatter_out(Plan& plan, const at::Tensor& whole, const Tensors& tensors) {
  plan.kept.push_back(whole);
  if (!whole.is_alias_of(tensors.front()))
    plan.last.push_back([whole, tensors] { copy_out(whole, tensors); });
}

Call send_or_receive(const at::Tensor& tensor, int peer, bool sends) {
  const Elements elements = to_move(tensor);
  return {.collective = Collective::send_recv,
          .input = elements.data,
          .output = elements.data,
          .count = elements.count,
          .type = elements.type,
          .root = peer,
          .sends = sends};
}

}  // namespace

Plan Backend::plan_all_gather(Tensors& outputs, const at::Tensor& input) const {
  Plan plan{.kind = c10d::OpType::ALLGATHER, .name = "rondo:all_gather"};
  check_tensor(input, plan.name);
  check_types(outputs, input.scalar_type(), plan.name);
  check_sizes(outputs[static_cast<std::size_t>(rank_)], input, 1, plan.name);
  const Elements elements = to_move(input);
  const at::Tensor whole = whole_of(outputs);
  plan.calls.push_back({.collective = Collective::all_gather,
                        .input = elements.data,
                        .output = whole.data_ptr(),
                        .type = elements.type,
                        .counts = moved_counts(outputs)});
  scatter_out(plan, whole, outputs);
  plan.kept.push_back(input);
  plan.outputs = outputs;
  return plan;
}

WorkHandle Backend::allgather(Lists& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) {
  const char* const name = "rondo:all_gather";
  Tensors& list = only_list(outputs, size_, name);
  return launch(plan_all_gather(list, only(inputs, name)), options);
}

WorkHandle Backend::allgather_coalesced(Lists& outputs, Tensors& inputs,
                                        const c10d::AllgatherOptions& options) {
  // `outputs` has a list for each rank, with a tensor for each input.
  Plan plan{.kind = c10d::OpType::ALLGATHER_COALESCED, .name = "rondo:all_gather_coalesced"};
  check_equal_numbers(outputs.size(), static_cast<std::size_t>(size_), plan.name);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors list;
    for (const Tensors& of_rank : outputs) {
      check_equal_numbers(of_rank.size(), inputs.size(), plan.name);
      check_tensor(of_rank[i], plan.name);
      list.push_back(of_rank[i]);
    }
    plan.merge(plan_all_gather(list, inputs[i]));
  }
  return launch(std::move(plan), options);
}

WorkHandle Backend::gather(Lists& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  Plan plan{.kind = c10d::OpType::GATHER, .name = "rondo:gather"};
  const at::Tensor& input = only(inputs, plan.name);
  const Elements elements = to_move(input);
  void* output = nullptr;
  if (rank_ == options.rootRank) {
    Tensors& list = only_list(outputs, size_, plan.name);
    for (const at::Tensor& tensor : list) check_sizes(tensor, input, 1, plan.name);
    const at::Tensor whole = whole_of(list);
    output = whole.data_ptr();
    scatter_out(plan, whole, list);
    plan.outputs = list;
  }
  plan.kept.push_back(input);
  plan.calls.push_back({.collective = Collective::gather,
                        .input = elements.data,
                        .output = output,
                        .count = elements.count,
                        .type = elements.type,
                        .root = static_cast<int>(options.rootRank)});
  return launch(std::move(plan), options);
}

WorkHandle Backend::scatter(Tensors& outputs, Lists& inputs, const c10d::ScatterOptions& options) {
  Plan plan{.kind = c10d::OpType::SCATTER, .name = "rondo:scatter"};
  const at::Tensor& output = only(outputs, plan.name);
  const Elements elements = to_move(output);
  const void* input = nullptr;
  if (rank_ == options.rootRank) {
    Tensors& list = only_list(inputs, size_, plan.name);
    for (const at::Tensor& tensor : list) check_sizes(tensor, output, 1, plan.name);
    const at::Tensor whole = filled(list);
    input = whole.data_ptr();
    plan.kept.push_back(whole);
  }
  plan.outputs = outputs;
  plan.calls.push_back({.collective = Collective::scatter,
                        .input = input,
                        .output = elements.data,
                        .count = elements.count,
                        .type = elements.type,
                        .root = static_cast<int>(options.rootRank)});
  return launch(std::move(plan), options);
}

WorkHandle Backend::reduce_scatter(Tensors& outputs, Lists& inputs,
                                   const c10d::ReduceScatterOptions& options) {
  const char* const name = "rondo:reduce_scatter";
  at::Tensor& output = only(outputs, name);
  Tensors& list = only_list(inputs, size_, name);
  check_types(list, output.scalar_type(), name);
  check_sizes(list[static_cast<std::size_t>(rank_)], output, 1, name);
  if (equally_long(list)) {
    at::Tensor whole = filled(list);
    return _reduce_scatter_base(output, whole, options);
  }
  Plan plan{.kind = c10d::OpType::REDUCE_SCATTER, .name = name};
  const at::Tensor input = scaled(filled(list), options.reduceOp);
  const Reduction reduction = to_reduce(input, options.reduceOp, name);
  std::vector<std::size_t> counts;
  for (const at::Tensor& tensor : list) {
    const auto elements = static_cast<std::size_t>(tensor.numel());
    counts.push_back(elements * (tensor.is_complex() ? 2 : 1));
  }
  plan.kept.push_back(input);
  plan.calls.push_back({.collective = Collective::reduce_scatter,
                        .input = reduction.elements.data,
                        .output = output.data_ptr(),
                        .type = reduction.elements.type,
                        .how = reduction.op,
                        .counts = std::move(counts)});
  plan.outputs = outputs;
  return launch(std::move(plan), options);
}

WorkHandle Backend::alltoall(Tensors& outputs, Tensors& inputs,
                             const c10d::AllToAllOptions& options) {
  Plan plan{.kind = c10d::OpType::ALLTOALL, .name = "rondo:all_to_all"};
  check_equal_numbers(outputs.size(), static_cast<std::size_t>(size_), plan.name);
  check_equal_numbers(inputs.size(), static_cast<std::size_t>(size_), plan.name);
  for (int distance = 0; distance < size_; ++distance) {  // ranks do not all send to one first
    const int to = (rank_ + distance) % size_;
    const int from = (rank_ - distance + size_) % size_;
    const at::Tensor& input = inputs[static_cast<std::size_t>(to)];
    const at::Tensor& output = outputs[static_cast<std::size_t>(from)];
    check_tensor(input, plan.name);
    check_tensor(output, plan.name);
    plan.calls.push_back(send_or_receive(input, to, true));
    plan.calls.push_back(send_or_receive(output, from, false));
  }
  plan.outputs = outputs;
  plan.kept = inputs;
  return launch(std::move(plan), options);
}

WorkHandle Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                  std::vector<std::int64_t>& output_sizes,
                                  std::vector<std::int64_t>& input_sizes,
                                  const c10d::AllToAllOptions& options) {
  Plan plan{.kind = c10d::OpType::ALLTOALL_BASE, .name = "rondo:all_to_all_base"};
  check_tensor(output, plan.name);
  check_tensor(input, plan.name);
  check_types({output}, input.scalar_type(), plan.name);
  if (!output_sizes.empty() || !input_sizes.empty()) {
    plan.calls.push_back({.collective = Collective::all_to_all,
                          .input = input.data_ptr(),
                          .output = output.data_ptr(),
                          .type = to_move(input).type,
                          .counts = moved_counts(rows(input, input_sizes, size_, plan.name)),
                          .received = moved_counts(rows(output, output_sizes, size_, plan.name))});
    plan.outputs.push_back(output);
    plan.kept.push_back(input);
    return launch(std::move(plan), options);
  }
  check_sizes(output, input, 1, plan.name);
  check_divides(input, size_, plan.name);
  const Elements elements = to_move(input);
  plan.calls.push_back({.collective = Collective::all_to_all,
                        .input = elements.data,
                        .output = output.data_ptr(),
                        .count = elements.count / static_cast<std::size_t>(size_),
                        .type = elements.type});
  plan.outputs.push_back(output);
  plan.kept.push_back(input);
  return launch(std::move(plan), options);
}

}  // namespace rondo_torch
