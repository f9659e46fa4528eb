#include "core/stream/places.h"

#include <algorithm>
#include <cstring>

namespace rondo::stream {
namespace {

using cuda::DevicePointer;

/// Parts of one piece begin at multiples of this many elements: at cache lines of any type.
constexpr std::size_t part_elements = 128;

device::Scalar scale_of(const Request& request) {
  device::Scalar scale{.used = static_cast<bool>(request.scale)};
  if (!scale.used) return scale;
  if (request.scalar_later) {
    scale.at = static_cast<const std::byte*>(request.scalar);
  } else {
    std::memcpy(&scale.bits, request.scalar, size_of(request.call.type));
  }
  return scale;
}

class Builder {
 public:
  Builder(const JointPlan& plan, std::span<const Request* const> calls)
      : plan_(plan),
        calls_(calls),
        call_(calls.front()->call),
        blocks_(partition_of(call_, calls.front()->counts, plan.layout)),
        reduces_(info(call_.collective).reduces) {
    shape_.how = {.type = call_.type};
    if (!reduces_) return;
    shape_.how.accumulate = call_.accumulate;
    shape_.how.op = call_.op;
    if (call_.op == ReduceOperator::avg) shape_.how.divisor = calls.size();
    for (const Request* const each : calls) shape_.scales.push_back(scale_of(*each));
  }

  std::vector<Places> all() {
    for (const auto& [op, targets] : plan_.ops) add(op, targets);
    if (is_vector(call_.collective))  // one piece, of all devices
      for (Places& each : all_) each.ranks.clear();
    return std::move(all_);
  }

 private:
  void add(const JointOp& op, const std::vector<std::int32_t>& targets) {
    shape_.count = blocks_.size(op.into);
    if (shape_.count == 0) return;
    pointers_.clear();
    for (const Operand& operand : op.operands) pointers_.push_back(at(operand.peer, operand.chunk));
    bool writes = false;
    for (const std::int32_t target : targets) {
      // A copy onto itself is none. Its target is 0, so that all pieces keep their shape.
      const DevicePointer pointer = at(target, op.into);
      const bool is_there = !reduces_ && pointer == pointers_.front();
      pointers_.push_back(is_there ? 0 : pointer);
      writes |= !is_there;
    }
    shape_.sources = op.operands.size();
    shape_.targets = targets.size();
    if (writes) add_piece(all_, shape_, pointers_, op.operands.front().chunk.first);
  }

  /// Where a chunk of a rank's buffer begins.
  DevicePointer at(int rank, const Chunk& chunk) const {
    const Request& own = *calls_[static_cast<std::size_t>(rank)];
    const int first = held(call_.collective, chunk.buffer, plan_.layout, rank, call_.root).first;
    const std::size_t offset =
        blocks_.offset(static_cast<int>(chunk.first)) - blocks_.offset(first);
    return cuda::address_of(chunk.buffer == Buffer::input ? own.input : own.output) +
           offset * size_of(call_.type);
  }

  const JointPlan& plan_;
  std::span<const Request* const> calls_;
  const Call& call_;
  Partition blocks_;
  bool reduces_;
  cuda::Work shape_{};                     ///< without pieces
  std::vector<DevicePointer> pointers_{};  ///< of the op at hand
  std::vector<Places> all_{};
};

}  // namespace

std::vector<Places> places_of(const JointPlan& plan, std::span<const Request* const> calls) {
  return Builder(plan, calls).all();
}

void add_piece(std::vector<Places>& all, const cuda::Work& shape,
               std::span<const DevicePointer> pointers, std::size_t rank) {
  auto found = std::ranges::find_if(all, [&](const Places& each) {
    return each.work.count == shape.count && each.work.sources == shape.sources &&
           each.work.targets == shape.targets;
  });
  if (found == all.end()) found = all.insert(found, {.work = shape});
  found->work.pointers.insert(found->work.pointers.end(), pointers.begin(), pointers.end());
  found->ranks.push_back(rank);
}

cuda::Work work_of(const Places& places, std::span<const std::size_t> device_of, std::size_t device,
                   std::size_t devices) {
  cuda::Work work = places.work;
  const auto each = static_cast<std::ptrdiff_t>(work.sources + work.targets);
  if (!places.ranks.empty()) {
    work.pointers.clear();
    auto piece = places.work.pointers.begin();
    for (const std::size_t rank : places.ranks) {
      if (device_of[rank] == device) work.pointers.insert(work.pointers.end(), piece, piece + each);
      piece += each;
    }
    return work;
  }
  const auto part = [&](std::size_t of) {
    return of == devices ? places.work.count
                         : places.work.count / part_elements * of / devices * part_elements;
  };
  const std::size_t first = part(device);
  work.count = part(device + 1) - first;
  for (DevicePointer& pointer : work.pointers)
    pointer += pointer == 0 ? 0 : first * size_of(work.how.type);
  // Devices that share the work write to different targets at a time.
  const auto targets = work.pointers.begin() + static_cast<std::ptrdiff_t>(work.sources);
  std::rotate(targets, targets + static_cast<std::ptrdiff_t>(device % work.targets),
              work.pointers.end());
  return work;
}

}  // namespace rondo::stream
