#include "core/communicator/arguments.h"

#include <functional>
#include <string>

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
  return call;
}

/// A user's buffer: where it begins and how long it is.
struct Region {
  const char* begin;
  std::size_t bytes;
};

Region region_of(const Call& call, const void* pointer, Buffer buffer, int rank, int ranks) {
  const ChunkSpan span =
      held(call.collective, buffer, make_layout(call.collective, ranks, 1), rank, call.root);
  return {static_cast<const char*>(pointer),
          static_cast<std::size_t>(span.count) * call.count * size_of(call.type)};
}

bool overlaps(const Region& a, const Region& b) {
  const std::less<> before;
  return a.bytes > 0 && b.bytes > 0 && before(a.begin, b.begin + b.bytes) &&
         before(b.begin, a.begin + a.bytes);
}

/// Where the input lies relative to the output when a call is in place.
bool in_place(const Call& call, const Region& in, const Region& out, int rank) {
  const std::size_t block = call.count * size_of(call.type);
  const std::size_t offset = static_cast<std::size_t>(rank) * block;
  if (in.bytes == out.bytes) return in.begin == out.begin;
  return in.bytes > out.bytes ? out.begin == in.begin + offset : in.begin == out.begin + offset;
}

}  // namespace

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
  if (info(call.collective).has_root && (call.root < 0 || call.root >= ranks)) {
    reject(call, rank, "root " + std::to_string(call.root) + " is not a rank",
           "use 0 to " + std::to_string(ranks - 1));
  }
  std::ptrdiff_t bytes = 0;
  const std::size_t widest = size_of(call.type) * static_cast<std::size_t>(ranks);
  if (__builtin_mul_overflow(call.count, widest, &bytes))
    reject(call, rank, "count " + std::to_string(call.count) + " exceeds the address space",
           "check for a negative or uninitialised count");
}

void check_call(const Call& call, const void* input, const void* output, int rank, int ranks) {
  check_kinds(call, rank, ranks);
  const Region in = region_of(call, input, Buffer::input, rank, ranks);
  const Region out = region_of(call, output, Buffer::output, rank, ranks);
  if (in.bytes > 0 && input == nullptr)
    reject(call, rank, "input is null", "pass this rank's data");
  if (out.bytes > 0 && output == nullptr)
    reject(call, rank, "output is null", "pass memory for the result");
  if (!overlaps(in, out)) return;
  if (call.collective == Collective::all_to_all) {
    reject(call, rank, "all_to_all cannot work in place",
           "give input and output memory of their own");
  }
  if (!in_place(call, in, out, rank)) {
    reject(call, rank, "input and output overlap in part",
           "use separate buffers, or work in place: output is input, or the rank's own block of "
           "the larger one");
  }
}

void check_message(const Call& call, const void* buffer, int peer, int rank, int ranks) {
  check_kinds(call, rank, ranks);
  if (peer < 0 || peer >= ranks) {
    reject(call, rank, "peer " + std::to_string(peer) + " is not a rank",
           "use 0 to " + std::to_string(ranks - 1));
  }
  if (call.count > 0 && buffer == nullptr)
    reject(call, rank, "buffer is null", "pass memory for the message");
}

}  // namespace rondo::detail
