// Calls in which each rank passes one tensor.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "tools/torch/source/backend.h"
#include "tools/torch/source/tensors.h"

namespace rondo_torch {
namespace {

using rondo::Collective;

void plan_all_reduce(Plan& plan, const at::Tensor& tensor, const c10d::ReduceOp& op) {
  check_tensor(tensor, plan.name);
  const at::Tensor input = scaled(tensor, op);
  const Reduction reduction = to_reduce(tensor, op, plan.name);
  plan.outputs.push_back(tensor);
  plan.kept.push_back(input);
  plan.calls.push_back({.collective = Collective::all_reduce,
                        .input = input.data_ptr(),
                        .output = reduction.elements.data,
                        .count = reduction.elements.count,
                        .type = reduction.elements.type,
                        .how = reduction.op});
}

/// Many small tensors of one type become one call: a call of its own costs as much as hundreds of
/// kilobytes.
constexpr std::size_t small_bytes = 64 << 10;

bool packs(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  return tensor.defined() && tensor.nbytes() <= small_bytes &&
         op.op_ != c10d::ReduceOp::PREMUL_SUM && tensor.scalar_type() != at::kBool;
}

void copy(const at::Tensor& packed, const Tensors& tensors, bool inwards) {
  auto* place = static_cast<char*>(packed.data_ptr());
  for (const at::Tensor& tensor : tensors) {
    const std::size_t bytes = tensor.nbytes();
    if (bytes > 0) {
      std::memcpy(inwards ? place : tensor.data_ptr(), inwards ? tensor.data_ptr() : place, bytes);
    }
    place += bytes;
  }
}

/// A fingerprint of all sizes and types, in order.
std::int64_t fingerprint(const Tensors& tensors) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, by numbers instead of bytes
  for (const at::Tensor& tensor : tensors) {
    for (const std::int64_t number :
         {tensor.numel(), static_cast<std::int64_t>(tensor.scalar_type())})
      hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211u;
  }
  return static_cast<std::int64_t>(hash);
}

/// Lists of different sizes may have the same number of elements in all, and then look like equal
/// calls to rondo. So all ranks exchange a fingerprint of their lists, and all find the same
/// difference.
void plan_comparison(Plan& plan, const Tensors& tensors, int size, const std::string& group) {
  at::Tensor prints = at::empty({size + 1}, at::kLong);  // those of all ranks, then this rank's
  auto* const every = prints.data_ptr<std::int64_t>();
  every[size] = fingerprint(tensors);
  plan.calls.push_back({.collective = Collective::all_gather,
                        .input = every + size,
                        .output = every,
                        .count = 1,
                        .type = rondo::DataType::int64});
  plan.kept.push_back(prints);
  plan.last.push_back([prints, size, group] {
    const auto* const all = prints.data_ptr<std::int64_t>();
    const auto* const other =
        std::find_if(all, all + size, [&](auto one) { return one != all[0]; });
    if (other != all + size)
      C10_THROW_ERROR(DistBackendError,
                      group + ": rondo: all_reduce_coalesced: the tensors of rank " +
                          std::to_string(other - all) +
                          " have other sizes or types than those of rank 0. Try: give every rank "
                          "the same list");
  });
}

/// Packs the tensors into one, and unpacks the result. All ranks pack alike, which
/// plan_comparison() checks.
void plan_packed(Plan& plan, const Tensors& tensors, const c10d::ReduceOp& op) {
  if (tensors.size() == 1) return plan_all_reduce(plan, tensors.front(), op);
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  const at::Tensor packed = at::empty({elements}, tensors.front().options().requires_grad(false));
  plan_all_reduce(plan, packed, op);
  copy(packed, tensors, true);
  plan.last.push_back([packed, tensors] { copy(packed, tensors, false); });
}

/// How many of rondo's elements make one block of the tensor.
std::size_t block(const Elements& elements, int size) {
  return elements.count / static_cast<std::size_t>(size);
}

}  // namespace

WorkHandle Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  Plan plan{.kind = c10d::OpType::BROADCAST, .name = "rondo:broadcast"};
  const at::Tensor& tensor = only(tensors, plan.name);
  const Elements elements = to_move(tensor);
  plan.calls.push_back({.collective = Collective::broadcast,
                        .input = elements.data,
                        .output = elements.data,
                        .count = elements.count,
                        .type = elements.type,
                        .root = static_cast<int>(options.rootRank)});
  plan.outputs = tensors;
  return launch(std::move(plan), options);
}

WorkHandle Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  Plan plan{.kind = c10d::OpType::ALLREDUCE, .name = "rondo:all_reduce"};
  plan_all_reduce(plan, only(tensors, plan.name), options.reduceOp);
  return launch(std::move(plan), options);
}

WorkHandle Backend::allreduce_coalesced(Tensors& tensors,
                                        const c10d::AllreduceCoalescedOptions& options) {
  Plan plan{.kind = c10d::OpType::ALLREDUCE_COALESCED, .name = "rondo:all_reduce_coalesced"};
  std::map<at::ScalarType, Tensors> small;
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, plan.name);
    if (packs(tensor, options.reduceOp))
      small[tensor.scalar_type()].push_back(tensor);
    else
      plan_all_reduce(plan, tensor, options.reduceOp);
  }
  const bool some_packed = std::any_of(small.begin(), small.end(),
                                       [](const auto& type) { return type.second.size() > 1; });
  if (some_packed) plan_comparison(plan, tensors, size_, group_->name);
  for (const auto& [type, list] : small) plan_packed(plan, list, options.reduceOp);
  plan.outputs = tensors;
  return launch(std::move(plan), options);
}

WorkHandle Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  Plan plan{.kind = c10d::OpType::REDUCE, .name = "rondo:reduce"};
  const at::Tensor& tensor = only(tensors, plan.name);
  const int root = static_cast<int>(options.rootRank);
  const Reduction reduction = to_reduce(tensor, options.reduceOp, plan.name);
  plan.outputs = tensors;
  const at::Tensor input = scaled(tensor, options.reduceOp);
  plan.kept.push_back(input);
  plan.calls.push_back({.collective = Collective::reduce,
                        .input = input.data_ptr(),
                        .output = rank_ == root ? reduction.elements.data : nullptr,
                        .count = reduction.elements.count,
                        .type = reduction.elements.type,
                        .how = reduction.op,
                        .root = root});
  return launch(std::move(plan), options);
}

namespace {

void plan_gather_base(Plan& plan, const at::Tensor& output, const at::Tensor& input, int size) {
  check_tensor(output, plan.name);
  check_tensor(input, plan.name);
  check_sizes(output, input, size, plan.name);
  const Elements elements = to_move(input);
  plan.calls.push_back({.collective = Collective::all_gather,
                        .input = elements.data,
                        .output = output.data_ptr(),
                        .count = elements.count,
                        .type = elements.type});
  plan.outputs.push_back(output);
  plan.kept.push_back(input);
}

void plan_reduce_scatter_base(Plan& plan, const at::Tensor& output, const at::Tensor& input,
                              const c10d::ReduceOp& op, int size) {
  check_tensor(output, plan.name);
  check_tensor(input, plan.name);
  check_sizes(input, output, size, plan.name);
  const at::Tensor factored = scaled(input, op);
  const Reduction reduction = to_reduce(factored, op, plan.name);
  plan.outputs.push_back(output);
  plan.kept.push_back(factored);
  plan.calls.push_back({.collective = Collective::reduce_scatter,
                        .input = reduction.elements.data,
                        .output = output.data_ptr(),
                        .count = block(reduction.elements, size),
                        .type = reduction.elements.type,
                        .how = reduction.op});
}

}  // namespace

WorkHandle Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                    const c10d::AllgatherOptions& options) {
  Plan plan{.kind = c10d::OpType::_ALLGATHER_BASE, .name = "rondo:all_gather_base"};
  plan_gather_base(plan, output, input, size_);
  return launch(std::move(plan), options);
}

WorkHandle Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                    const c10d::AllgatherOptions& options) {
  Plan plan{.kind = c10d::OpType::ALLGATHER_INTO_TENSOR_COALESCED,
            .name = "rondo:all_gather_coalesced"};
  check_equal_numbers(outputs.size(), inputs.size(), plan.name);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    plan_gather_base(plan, outputs[i], inputs[i], size_);
  return launch(std::move(plan), options);
}

WorkHandle Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                         const c10d::ReduceScatterOptions& options) {
  Plan plan{.kind = c10d::OpType::_REDUCE_SCATTER_BASE, .name = "rondo:reduce_scatter_base"};
  plan_reduce_scatter_base(plan, output, input, options.reduceOp, size_);
  return launch(std::move(plan), options);
}

WorkHandle Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                    const c10d::ReduceScatterOptions& options) {
  Plan plan{.kind = c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED,
            .name = "rondo:reduce_scatter_coalesced"};
  check_equal_numbers(outputs.size(), inputs.size(), plan.name);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    plan_reduce_scatter_base(plan, outputs[i], inputs[i], options.reduceOp, size_);
  return launch(std::move(plan), options);
}

}  // namespace rondo_torch
