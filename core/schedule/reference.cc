#include "core/schedule/reference.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/schedule/collective.h"
#include "core/schedule/machine.h"
#include "rondo/error.h"

namespace rondo {
namespace {

/// The Domain of bytes. A value is the bytes of a run of chunks.
class Memories {
 public:
  using Value = Bytes;

  Memories(const Schedule& header, const Partition& partition, DataType type, ReduceOperator op,
           const std::vector<Bytes>& inputs, const Arithmetic& arithmetic)
      : header_(header),
        partition_(partition),
        type_(type),
        op_(op),
        averages_(op == ReduceOperator::avg && info(header.collective).reduces),
        inputs_(inputs),
        arithmetic_(arithmetic),
        scratch_(inputs.size()) {
    for (int rank = 0; rank < header.ranks; ++rank) {
      outputs_.emplace_back(held_bytes(Buffer::output, rank));
      if (inputs[index(rank)].size() != held_bytes(Buffer::input, rank))
        throw Error(ErrorCode::invalid_argument,
                    "input of " + std::to_string(inputs[index(rank)].size()) + " bytes, needs " +
                        std::to_string(held_bytes(Buffer::input, rank)),
                    {.rank = rank});
    }
  }

  Value read(const Site& site, const Chunk& run) {
    Value value(partition_.size(run) * size_of(type_));
    std::byte* to = value.data();
    each_chunk(site, run,
               [&](const std::byte* at, std::size_t bytes) { to = std::copy(at, at + bytes, to); });
    if (averages_ && run.buffer == Buffer::input)
      arithmetic_.scale(type_, value.data(), value.data(), 1.0 / header_.ranks, elements(value));
    return value;
  }

  Value combine(const Site&, std::span<Value> operands) {
    std::vector<const void*> pointers;
    for (const Value& operand : operands) {
      demand_length(operand.size(), operands.front().size());
      pointers.push_back(operand.data());
    }
    Value result(operands.front().size());
    arithmetic_.reduce(type_, op_, result.data(), pointers, elements(result));
    return result;
  }

  void write(const Site& site, const Chunk& run, const Value& value) {
    demand_length(value.size(), partition_.size(run) * size_of(type_));
    const std::byte* from = value.data();
    each_chunk(site, run, [&](std::byte* at, std::size_t bytes) {
      std::copy(from, from + bytes, at);
      from += bytes;
    });
  }

  static Value arrive(const Site&, int, Value value) { return value; }
  static Value depart(const Site&, int, Value value) { return value; }

  std::vector<Bytes> take_outputs() {
    if (averages_)
      for (Bytes& output : outputs_)
        arithmetic_.divide(type_, output.data(), static_cast<std::size_t>(header_.ranks),
                           elements(output));
    return std::move(outputs_);
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t elements(const Bytes& bytes) const { return bytes.size() / size_of(type_); }

  static void demand_length(std::size_t is, std::size_t wanted) {
    if (is != wanted)
      throw Error(ErrorCode::internal, "a value of " + std::to_string(is) + " bytes meets one of " +
                                           std::to_string(wanted));
  }

  std::size_t held_bytes(Buffer buffer, int rank) const {
    const ChunkSpan span = held(header_.collective, buffer, header_.layout, rank, header_.root);
    return (partition_.offset(span.first + span.count) - partition_.offset(span.first)) *
           size_of(type_);
  }

  /// The buffer that the run lies in, and the element its memory begins with.
  std::pair<Bytes*, std::size_t> base(int rank, const Chunk& run) {
    if (!holds(header_, rank, run))
      throw Error(ErrorCode::internal,
                  text(run, header_.layout) + " is used, which this rank does not have",
                  {.rank = rank});
    if (run.buffer == Buffer::scratch) {
      Bytes& slot = scratch_[index(rank)][run.slot];
      slot.resize(partition_.elements() * size_of(type_));
      return {&slot, 0};
    }
    const ChunkSpan span = held(header_.collective, run.buffer, header_.layout, rank, header_.root);
    if (run.buffer == Buffer::output)
      return {&outputs_[index(rank)], partition_.offset(span.first)};
    return {&inputs_[index(rank)], partition_.offset(span.first)};
  }

  template <class Visit>
  void each_chunk(const Site& site, const Chunk& run, Visit visit) {
    const auto [bytes, first_element] = base(site.rank, run);
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const int chunk =
          static_cast<int>((run.first + i) % static_cast<std::uint32_t>(header_.layout.chunks()));
      visit(bytes->data() + (partition_.offset(chunk) - first_element) * size_of(type_),
            partition_.size(chunk) * size_of(type_));
    }
  }

  const Schedule& header_;
  const Partition& partition_;
  DataType type_;
  ReduceOperator op_;
  bool averages_;
  std::vector<Bytes> inputs_;
  const Arithmetic& arithmetic_;
  std::vector<Bytes> outputs_{};
  std::vector<std::unordered_map<std::uint16_t, Bytes>> scratch_;  ///< per rank, by slot
};

void check_arguments(const Schedule& header, const Partition& partition,
                     const std::vector<Bytes>& inputs) {
  check_header(header);
  if (partition.layout() != header.layout)
    throw Error(ErrorCode::invalid_argument, "the partition is of another layout");
  if (inputs.size() != static_cast<std::size_t>(header.ranks))
    throw Error(ErrorCode::invalid_argument, std::to_string(inputs.size()) + " inputs for " +
                                                 std::to_string(header.ranks) + " ranks");
}

void demand_clean(const Outcome& outcome, const Schedule& header) {
  if (!outcome.clean()) throw Error(ErrorCode::internal, describe(outcome, header).front());
}

}  // namespace

std::vector<Bytes> reference(const Schedule& schedule, const Partition& partition, DataType type,
                             ReduceOperator op, const std::vector<Bytes>& inputs,
                             const Arithmetic& arithmetic) {
  check_arguments(schedule, partition, inputs);
  Memories memories(schedule, partition, type, op, inputs, arithmetic);
  demand_clean(run(schedule, memories), schedule);
  return memories.take_outputs();
}

std::vector<Bytes> reference(const Schedule& header, std::span<const Program> programs,
                             const Partition& partition, DataType type, ReduceOperator op,
                             const std::vector<Bytes>& inputs, const Arithmetic& arithmetic) {
  check_arguments(header, partition, inputs);
  Memories memories(header, partition, type, op, inputs, arithmetic);
  demand_clean(run(header, programs, memories), header);
  return memories.take_outputs();
}

}  // namespace rondo
