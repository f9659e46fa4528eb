#include "core/communicator/arguments.h"

#include <cstdint>
#include <string>

#include "core/base/readable.h"
#include "core/schedule/layout.h"
#include "rondo/error.h"

namespace rondo::detail {
namespace {

[[noreturn]] void reject(const Call& call, int rank, const std::string& what,
                         const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what,
              {.rank = rank, .call = to_string(call), .remedy = remedy});
}

/// A call with kinds that have names, so that it can be put in words.
Call named(Call call) {
  call.type = DataType::uint8;
  call.op = ReduceOperator::sum;
  call.accumulate = call.type;
  return call;
}

/// A user's buffer: where it begins, how long it is, and where in the index space.
struct Region {
  std::uintptr_t begin;
  std::size_t bytes;
  std::size_t offset;  ///< bytes
};

bool overlaps(const Region& a, const Region& b) {
  return a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

/// Both buffers have the index space in the same memory.
bool in_place(const Region& in, const Region& out) {
  return in.begin - in.offset == out.begin - out.offset;
}

/// Of an own operator.
void check_operator(const Call& call, int rank) {
  const std::size_t bytes = call.own->element_bytes;
  if (call.own->combine == nullptr || call.own->name == nullptr) {
    Call usual = call;
    usual.own = nullptr;  // it cannot be put in words
    reject(usual, rank, "the operator has no name or no function", "use rondo::make_operator()");
  }
  if (bytes == 0 || bytes > most_operator_bytes)
    reject(call, rank, "the operator's elements have " + std::to_string(bytes) + " bytes",
           "use 1 to " + std::to_string(most_operator_bytes));
}

/// An accumulation type other than the type must be its wider one, in a reduction.
void check_accumulation(const Call& call, int rank) {
  if (info(call.collective).reduces && wide_type(call.type) == call.accumulate) return;
  const auto number = static_cast<std::size_t>(call.accumulate);
  Call usual = call;
  usual.accumulate = call.type;
  reject(usual, rank,
         std::string(name(call.type)) + " cannot be accumulated in " +
             (number < data_types.size() ? std::string(name(call.accumulate))
                                         : "data type " + std::to_string(number)),
         "in calls that reduce use float32 for float16, bfloat16, float8_e4m3 and float8_e5m2, and "
         "float64 for float32");
}

void require_memory(const void* begin, std::size_t bytes, const char* what, const Call& call,
                    int rank) {
  const std::string why = memory_obstacle(begin, bytes);
  if (why.empty()) return;
  reject(call, rank, std::string(what) + ": " + why,
         "check the count, and that the memory has not been freed");
}

}  // namespace

std::string memory_obstacle(const void* begin, std::size_t bytes) {
  if (bytes < looked_at_bytes) return {};
  const auto* const first = static_cast<const std::byte*>(begin);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const bool wraps = address > UINTPTR_MAX - bytes;
  if (!wraps && is_readable(first) && is_readable(first + bytes - 1)) return {};
  return std::to_string(bytes) + " bytes from there on are not all memory of this process";
}

void check_kinds(const Call& call, int rank, int ranks) {
  if (static_cast<std::size_t>(call.type) >= data_types.size()) {
    reject(named(call), rank, "unknown data type " + std::to_string(static_cast<int>(call.type)),
           "use a rondo::DataType");
  }
  if (static_cast<std::size_t>(call.op) >= reduce_operators.size()) {
    reject(named(call), rank,
           "unknown reduce operator " + std::to_string(static_cast<int>(call.op)),
           "use a rondo::ReduceOperator");
  }
  if (call.own != nullptr) check_operator(call, rank);
  if (info(call.collective).reduces && !applies_to(call.op, call.type))
    reject(call, rank, obstacle(call.op, call.type), "use an integer type, or another operator");
  if (!applies_to(call.op, call.collective))
    reject(call, rank, "avg divides by the number of all ranks, but a scan's sums have fewer",
           "use sum, and divide by the ranks that each sum has");
  if (call.accumulate != call.type) check_accumulation(call, rank);
  if (info(call.collective).has_root && (call.root < 0 || call.root >= ranks)) {
    reject(call, rank, "root " + std::to_string(call.root) + " is not a rank",
           "use 0 to " + std::to_string(ranks - 1));
  }
  std::ptrdiff_t bytes = 0;
  const std::size_t blocks = call.blocks != 0 ? 1 : static_cast<std::size_t>(ranks);
  const std::size_t widest = element_bytes(call) * blocks;
  if (__builtin_mul_overflow(call.count, widest, &bytes))
    reject(call, rank, "count " + std::to_string(call.count) + " exceeds the address space",
           "check for a negative or uninitialised count");
}

void check_call(const Call& call, const void* input, const void* output, int rank, int ranks,
                Counts counts, bool in_host_memory) {
  check_kinds(call, rank, ranks);
  const auto region_of = [&](const void* pointer, Buffer buffer) -> Region {
    const HeldElements elements = held_elements(call, counts, buffer, rank, ranks);
    return {reinterpret_cast<std::uintptr_t>(pointer), elements.count * element_bytes(call),
            elements.begin * element_bytes(call)};
  };
  const Region in = region_of(input, Buffer::input);
  const Region out = region_of(output, Buffer::output);
  if (in.bytes > 0 && input == nullptr)
    reject(call, rank, "input is null", "pass this rank's data");
  if (out.bytes > 0 && output == nullptr)
    reject(call, rank, "output is null", "pass memory for the result");
  if (in_host_memory) {
    require_memory(input, in.bytes, "input", call, rank);
    require_memory(output, out.bytes, "output", call, rank);
  }
  if (!overlaps(in, out)) return;
  if (call.collective == Collective::all_to_all) {
    reject(call, rank, "all_to_all cannot work in place",
           "give input and output memory of their own");
  }
  if (!in_place(in, out)) {
    reject(call, rank, "input and output overlap in part",
           "use separate buffers, or work in place: output is input, or the rank's own block of "
           "the larger one");
  }
}

Shaped checked_shape(const Call& call, Counts counts, int rank, int ranks) {
  check_kinds(call, rank, ranks);  // a kind without a name cannot be put in words
  if (counts.size() != static_cast<std::size_t>(ranks)) {
    reject(call, rank,
           "a list of " + std::to_string(counts.size()) + " counts for " + std::to_string(ranks) +
               " ranks",
           "give the count of each rank's block, the same list on every rank");
  }
  std::size_t sum = 0;
  for (const std::size_t count : counts) {
    if (!__builtin_add_overflow(sum, count, &sum)) continue;
    reject(call, rank,
           "the sum of the counts, one of which is " + std::to_string(count) +
               ", exceeds the address space",
           "check for a negative or uninitialised count");
  }
  return shape(call, counts);
}

void check_message(const Call& call, const void* buffer, int peer, int rank, int ranks,
                   bool in_host_memory) {
  check_kinds(call, rank, ranks);
  if (peer < 0 || peer >= ranks) {
    reject(call, rank, "peer " + std::to_string(peer) + " is not a rank",
           "use 0 to " + std::to_string(ranks - 1));
  }
  if (call.count > 0 && buffer == nullptr)
    reject(call, rank, "buffer is null", "pass memory for the message");
  if (in_host_memory) require_memory(buffer, call.count * size_of(call.type), "buffer", call, rank);
}

}  // namespace rondo::detail
