// Translates tensors and torch's operators for rondo, and refuses what rondo does not take.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "rondo/rondo.h"

namespace rondo_torch {

/// A tensor's memory in the form that rondo takes.
struct Elements {
  void* data = nullptr;
  std::size_t count = 0;
  rondo::DataType type{};
};

/// Throws std::invalid_argument (in Python: ValueError) that names `call`, the tensor and a remedy
/// unless the tensor is dense, contiguous and in the CPU's memory.
void check_tensor(const at::Tensor& tensor, const char* call);
/// The only tensor of a list, checked. torch passes lists of one.
at::Tensor& only(std::vector<at::Tensor>& tensors, const char* call);
/// Throws the same unless both have one type, and `larger` `times` the elements of `smaller`.
void check_sizes(const at::Tensor& larger, const at::Tensor& smaller, int times, const char* call);
/// Throws the same unless all have that type.
void check_types(const std::vector<at::Tensor>& tensors, at::ScalarType type, const char* call);

/// Throws the same if a list has the wrong number of tensors.
void check_equal_numbers(std::size_t given, std::size_t wanted, const char* call);
/// Throws the same if the elements do not make equal blocks for `ranks`.
void check_divides(const at::Tensor& tensor, int ranks, const char* call);
/// The tensor cut along its first dimension, at least one row of it, into a piece for each rank.
/// `sizes` empty: equal ones. Throws the same if they do not add up.
std::vector<at::Tensor> rows(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes,
                             int ranks, const char* call);

/// For calls that only move. Takes any type; one that rondo does not have goes as bytes.
Elements to_move(const at::Tensor& tensor);

/// A reduction in rondo's terms.
struct Reduction {
  Elements elements{};
  rondo::ReduceOperator op = rondo::ReduceOperator::sum;
};

/// Throws std::invalid_argument if torch's operator is not defined for the type.
Reduction to_reduce(const at::Tensor& tensor, const c10d::ReduceOp& op, const char* call);
/// For PREMUL_SUM a new tensor: the tensor times the operator's factor. Otherwise the tensor
/// itself.
at::Tensor scaled(const at::Tensor& tensor, const c10d::ReduceOp& op);

/// All tensors as one, if they follow each other in memory; otherwise an undefined tensor.
at::Tensor joined(const std::vector<at::Tensor>& tensors);

}  // namespace rondo_torch
