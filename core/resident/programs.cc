#include "core/resident/programs.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "algorithms/table.h"
#include "core/plan/lower.h"
#include "kernels/device/encode.h"
#include "rondo/error.h"

namespace rondo::resident {
namespace {

/// Up to so many bytes of a message packets are faster: they need no fence and no second trip for a
/// flag, but twice the bytes. An assumption, as those of form.h.
constexpr std::size_t most_packet_bytes = std::size_t{16} << 10;

/// The protocol for the largest message.
device::Protocol protocol_of(const Partition& partition, std::size_t element_bytes) {
  std::size_t largest = 0;
  for (int chunk = 0; chunk < partition.layout().chunks(); ++chunk)
    largest = std::max(largest, partition.size(chunk));
  return largest * element_bytes <= most_packet_bytes ? device::Protocol::low_latency
                                                      : device::Protocol::bulk;
}

}  // namespace

std::string_view algorithm_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "two_shot";
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce:
      return "one_shot";
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather:
    case Collective::send_recv:
      return "linear";
    case Collective::barrier:
      break;
  }
  return "dissemination";
}

const Programs::Lowered& Programs::lowered(Collective collective, int root) {
  const auto found = lowered_.find({collective, root});
  if (found != lowered_.end()) return found->second;
  Schedule schedule = find_algorithm(collective, algorithm_of(collective))->build(ranks_, root);
  Program program = lower(schedule, rank_);
  const int longest = longest_message(schedule);
  return lowered_
      .emplace(std::pair(collective, root),
               Lowered{std::move(schedule), std::move(program), longest})
      .first->second;
}

std::uint32_t Programs::write(const Call& call, std::span<std::byte> into) {
  const Lowered& found = lowered(call.collective, call.root);
  const Partition partition(found.schedule.layout, call.count, size_of(call.type));
  const std::vector<std::byte> bytes =
      device::encode({.schedule = found.schedule,
                      .program = found.program,
                      .partition = partition,
                      .rank = rank_,
                      .type = call.type,
                      .op = call.op,
                      .longest_message = found.longest_message,
                      .protocol = protocol_of(partition, size_of(call.type)),
                      .arena = shape_});
  const auto& image = *reinterpret_cast<const device::Image*>(bytes.data());
  if (bytes.size() > into.size() || device::scratch_bytes(image) > 0 || image.lanes != 1) {
    throw Error(ErrorCode::internal,
                "the image of " + to_string(call) + " of " + std::to_string(bytes.size()) +
                    " bytes is too large for a kernel's arguments, has several "
                    "lanes or needs scratch");
  }
  std::memcpy(into.data(), bytes.data(), bytes.size());
  return image.stripes;
}

}  // namespace rondo::resident
