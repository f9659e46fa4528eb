#include "core/nccl/operators.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/cpu/reduce.h"
#include "rondo/error.h"

namespace rondo::nccl {
namespace {

constexpr std::array types{
    DataType::int8,    DataType::uint8,    DataType::int32,       DataType::uint32,
    DataType::int64,   DataType::uint64,   DataType::float16,     DataType::float32,
    DataType::float64, DataType::bfloat16, DataType::float8_e4m3, DataType::float8_e5m2,
};
static_assert(types.size() == ncclNumTypes);

constexpr std::array operators{ReduceOperator::sum, ReduceOperator::prod, ReduceOperator::max,
                               ReduceOperator::min, ReduceOperator::avg};
static_assert(operators.size() == ncclNumOps);

/// Elements multiplied at once: as many equal scalars fit the first-level cache.
constexpr std::size_t block = 1024;

}  // namespace

DataType type_of(ncclDataType_t type) {
  const auto number = static_cast<int>(type);
  if (number < 0 || number >= static_cast<int>(types.size())) {
    throw Error(ErrorCode::invalid_argument, "data type " + std::to_string(number) + " is unknown",
                {.remedy = "use an ncclDataType_t below ncclNumTypes"});
  }
  return types[static_cast<std::size_t>(number)];
}

PreMultiplication::PreMultiplication(DataType type, const void* scalar, bool later) : type_(type) {
  if (later) {
    later_ = scalar;
  } else {
    std::memcpy(value_.data(), scalar, size_of(type));
  }
}

void PreMultiplication::apply(void* output, const void* input, std::size_t count,
                              const void* scalar) const {
  const std::size_t bytes = size_of(type_);
  std::array<std::byte, block * 8> equal{};
  const std::size_t used = std::min(block, count);
  for (std::size_t i = 0; i < used; ++i) std::memcpy(equal.data() + i * bytes, scalar, bytes);
  const ReductionKernel product({.type = type_, .op = ReduceOperator::prod});
  for (std::size_t begin = 0; begin < count; begin += block) {
    void* const out = static_cast<std::byte*>(output) + begin * bytes;
    const std::array<const void*, 2> factors{static_cast<const std::byte*>(input) + begin * bytes,
                                             equal.data()};
    product(std::span(&out, 1), factors, std::min(block, count - begin));
  }
}

ncclRedOp_t Operators::add(Operator made, std::uintptr_t number) {
  // The number is the process's own count times 16, so handles stay far from each other.
  const int handle = ncclNumOps + static_cast<int>(number >> 4 & 0x3fffffff);
  made_[handle] = std::move(made);
  return static_cast<ncclRedOp_t>(handle);
}

void Operators::remove(ncclRedOp_t op) {
  const auto number = static_cast<int>(op);
  if (number >= 0 && number < ncclNumOps) {
    throw Error(ErrorCode::invalid_argument,
                "operator " + std::to_string(number) + " is NCCL's own, which cannot be destroyed");
  }
  if (made_.erase(number) == 0) {
    throw Error(ErrorCode::invalid_argument,
                "operator " + std::to_string(number) + " was not made for this communicator",
                {.remedy = "destroy each operator once, with the communicator it was made with"});
  }
}

Operator Operators::find(ncclRedOp_t op, DataType type) const {
  const auto number = static_cast<int>(op);
  if (number >= 0 && number < ncclNumOps) return {operators[static_cast<std::size_t>(number)], {}};
  const auto found = made_.find(number);
  if (found == made_.end()) {
    throw Error(
        ErrorCode::invalid_argument,
        "reduction operator " + std::to_string(number) + " does not exist in this communicator",
        {.remedy = "use ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg or what "
                   "ncclRedOpCreatePreMulSum or rondoRedOpCreateBitwise made with this "
                   "communicator"});
  }
  const PreMultiplication* const factor = found->second.factor.get();
  if (factor != nullptr && factor->type() != type) {
    throw Error(ErrorCode::invalid_argument, "this operator was made for " +
                                                 std::string(name(factor->type())) + ", not for " +
                                                 std::string(name(type)));
  }
  return found->second;
}

}  // namespace rondo::nccl
