#include "tools/torch/source/tensors.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace rondo_torch {
namespace {

using rondo::DataType;
using rondo::ReduceOperator;

[[noreturn]] void refuse(const char* call, const std::string& what, const std::string& remedy) {
  throw std::invalid_argument("rondo: " + std::string(call) + ": " + what + ". Try: " + remedy);
}

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// Types that both have. Booleans and complex numbers depend on what is done with them.
std::optional<DataType> same_type(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return DataType::int8;
    case at::kByte:
      return DataType::uint8;
    case at::kShort:
      return DataType::int16;
    case at::kUInt16:
      return DataType::uint16;
    case at::kInt:
      return DataType::int32;
    case at::kUInt32:
      return DataType::uint32;
    case at::kLong:
      return DataType::int64;
    case at::kUInt64:
      return DataType::uint64;
    case at::kHalf:
      return DataType::float16;
    case at::kBFloat16:
      return DataType::bfloat16;
    case at::kFloat:
      return DataType::float32;
    case at::kDouble:
      return DataType::float64;
    case at::kFloat8_e4m3fn:
      return DataType::float8_e4m3;
    case at::kFloat8_e5m2:
      return DataType::float8_e5m2;
    default:
      return std::nullopt;
  }
}

std::optional<ReduceOperator> same_operator(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::PREMUL_SUM:
      return ReduceOperator::sum;
    case c10d::ReduceOp::AVG:
      return ReduceOperator::avg;
    case c10d::ReduceOp::PRODUCT:
      return ReduceOperator::prod;
    case c10d::ReduceOp::MIN:
      return ReduceOperator::min;
    case c10d::ReduceOp::MAX:
      return ReduceOperator::max;
    case c10d::ReduceOp::BAND:
      return ReduceOperator::bit_and;
    case c10d::ReduceOp::BOR:
      return ReduceOperator::bit_or;
    case c10d::ReduceOp::BXOR:
      return ReduceOperator::bit_xor;
    default:
      return std::nullopt;
  }
}

/// Reduces bytes of 0 and 1: a sum means "any", a product means "all".
Reduction reduce_booleans(const at::Tensor& tensor, c10d::ReduceOp::RedOpType op,
                          const char* call) {
  Reduction reduction{.elements = to_move(tensor)};
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::BOR:
      reduction.op = ReduceOperator::max;
      break;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::BAND:
      reduction.op = ReduceOperator::min;
      break;
    case c10d::ReduceOp::BXOR:
      reduction.op = ReduceOperator::bit_xor;
      break;
    default:
      refuse(call, "booleans have no average and no factor", "tensor.float()");
  }
  return reduction;
}

/// Reduces twice as many real numbers, for operators that treat real and imaginary parts alike.
Reduction reduce_complex(const at::Tensor& tensor, c10d::ReduceOp::RedOpType op, const char* call) {
  if (!c10d::isComplexViewAsRealAllowed(op))
    refuse(call, "complex numbers can only be summed and averaged", "ReduceOp.SUM or ReduceOp.AVG");
  const at::Tensor parts = at::view_as_real(tensor);
  return {.elements = {tensor.data_ptr(), static_cast<std::size_t>(parts.numel()),
                       same_type(parts.scalar_type()).value()},
          .op = same_operator(op).value()};
}

}  // namespace

void check_tensor(const at::Tensor& tensor, const char* call) {
  if (!tensor.defined()) refuse(call, "an undefined tensor", "pass a tensor");
  if (!tensor.device().is_cpu())
    refuse(call, "a tensor on " + text(tensor.device()) + "; this backend serves CPU tensors",
           "tensor.cpu(), or init_process_group(\"cpu:rondo,cuda:nccl\")");
  if (tensor.layout() != at::kStrided)
    refuse(call, "a tensor of layout " + text(tensor.layout()), "tensor.to_dense()");
  if (!tensor.is_contiguous())
    refuse(call,
           "a tensor of shape " + text(tensor.sizes()) + " and strides " + text(tensor.strides()) +
               " is not contiguous",
           "tensor.contiguous()");
}

at::Tensor& only(std::vector<at::Tensor>& tensors, const char* call) {
  if (tensors.size() != 1)
    refuse(call, std::to_string(tensors.size()) + " tensors for one rank", "pass one");
  check_tensor(tensors.front(), call);
  return tensors.front();
}

void check_sizes(const at::Tensor& larger, const at::Tensor& smaller, int times, const char* call) {
  check_types({larger}, smaller.scalar_type(), call);
  if (larger.numel() == smaller.numel() * times) return;
  refuse(call,
         "tensors of " + text(larger.numel()) + " and " + text(smaller.numel()) + " elements for " +
             text(times) + " ranks",
         "make the larger one exactly as many times the smaller one as there are ranks");
}

void check_types(const std::vector<at::Tensor>& tensors, at::ScalarType type, const char* call) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.scalar_type() != type)
      refuse(call, "tensors of types " + text(tensor.scalar_type()) + " and " + text(type),
             "give all of them one type");
  }
}

void check_equal_numbers(std::size_t given, std::size_t wanted, const char* call) {
  if (given != wanted)
    refuse(call, "a list of " + text(given) + " where " + text(wanted) + " are needed",
           "give one tensor for each rank (or input)");
}

void check_divides(const at::Tensor& tensor, int ranks, const char* call) {
  if (tensor.numel() % ranks != 0)
    refuse(
        call,
        text(tensor.numel()) + " elements do not make equal blocks for " + text(ranks) + " ranks",
        "split sizes, on every rank");
}

std::vector<at::Tensor> rows(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes,
                             int ranks, const char* call) {
  const std::int64_t length = tensor.dim() == 0 ? 1 : tensor.size(0);
  std::vector<std::int64_t> pieces = sizes;
  if (pieces.empty()) {
    if (length % ranks != 0)
      refuse(call, text(length) + " rows do not make equal blocks for " + text(ranks) + " ranks",
             "split sizes");
    pieces.assign(static_cast<std::size_t>(ranks), length / ranks);
  }
  check_equal_numbers(pieces.size(), static_cast<std::size_t>(ranks), call);
  std::int64_t sum = 0;
  for (const std::int64_t piece : pieces) sum += piece;
  if (sum != length || *std::min_element(pieces.begin(), pieces.end()) < 0)
    refuse(call, "split sizes " + text(at::IntArrayRef(pieces)) + " for " + text(length) + " rows",
           "sizes that add up to the first dimension");
  return tensor.split_with_sizes(pieces, 0);
}

Elements to_move(const at::Tensor& tensor) {
  if (const auto type = same_type(tensor.scalar_type()))
    return {tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), *type};
  return {tensor.data_ptr(), static_cast<std::size_t>(tensor.nbytes()), DataType::uint8};
}

Reduction to_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op, const char* call) {
  const c10d::ReduceOp::RedOpType kind = op;
  if (tensor.scalar_type() == at::kBool) return reduce_booleans(tensor, kind, call);
  if (tensor.is_complex()) return reduce_complex(tensor, kind, call);
  const auto type = same_type(tensor.scalar_type());
  if (!type)
    refuse(call, "there is no arithmetic for " + text(tensor.scalar_type()), "another type");
  const auto same = same_operator(kind);
  if (!same)
    refuse(call, "this operator means nothing for " + text(tensor.scalar_type()), "ReduceOp.SUM");
  if (!rondo::applies_to(*same, *type))
    refuse(call, rondo::obstacle(*same, *type), "an integer type for bitwise operators");
  return {.elements = {tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()), *type},
          .op = *same};
}

at::Tensor scaled(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return tensor;
  const auto& factor = static_cast<const c10d::PreMulSumSupplement&>(*op.supplement_);
  const at::NoGradGuard no_gradient;
  const at::Tensor product = factor.tensor_factor.defined()
                                 ? at::mul(tensor, factor.tensor_factor)
                                 : at::mul(tensor, at::Scalar(factor.double_factor));
  return product.to(tensor.scalar_type()).contiguous();
}

at::Tensor joined(const std::vector<at::Tensor>& tensors) {
  const at::Tensor& first = tensors.front();
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    const bool follows = tensor.is_contiguous() && tensor.is_alias_of(first) &&
                         tensor.storage_offset() == first.storage_offset() + elements;
    if (!follows) return {};
    elements += tensor.numel();
  }
  return first.as_strided({elements}, {1});
}

}  // namespace rondo_torch
