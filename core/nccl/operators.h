// NCCL's element types and reduction operators as rondo's, and the operators that programs make.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "core/nccl/include/nccl.h"
#include "rondo/types.h"

namespace rondo::nccl {

/// Throws Error{invalid_argument} for a number that is no type.
DataType type_of(ncclDataType_t type);

/// "Multiply each contribution by a scalar, then add": the scalar may differ between ranks.
class PreMultiplication {
 public:
  /// `scalar` is read now, or with `later` whenever a call uses it.
  PreMultiplication(DataType type, const void* scalar, bool later);
  DataType type() const { return type_; }
  /// Where the scalar is now: host or device memory.
  const void* scalar() const { return later_ != nullptr ? later_ : value_.data(); }
  bool is_read_later() const { return later_ != nullptr; }
  /// output[i] = input[i] * scalar, rounded once; integers wrap. In place is allowed. All on the
  /// host.
  void apply(void* output, const void* input, std::size_t count, const void* scalar) const;

 private:
  DataType type_;
  std::array<std::byte, 8> value_{};
  const void* later_ = nullptr;
};

/// What an ncclRedOp_t means.
struct Operator {
  ReduceOperator op = ReduceOperator::sum;
  std::shared_ptr<const PreMultiplication> factor{};  ///< null: none
};

/// A communicator's operators: NCCL's five and those that were made for it.
class Operators {
 public:
  /// The handle of a new one. Handles of different communicators differ.
  ncclRedOp_t add(Operator made, std::uintptr_t number);
  /// Throws Error{invalid_argument} when there is none.
  void remove(ncclRedOp_t op);
  /// Throws Error{invalid_argument} for an operator that does not exist here, or whose scalar is of
  /// another type.
  Operator find(ncclRedOp_t op, DataType type) const;

 private:
  std::map<int, Operator> made_{};
};

}  // namespace rondo::nccl
