#include "core/direct_device/running.h"

#include <algorithm>
#include <utility>

namespace rondo::direct_device {

static_assert(most_ranks <= most_operands);

namespace {

/// The entries of a slice on its way in and out.
std::size_t entries_of(const Slice& slice) {
  const std::size_t flags = slice.gathers.empty() ? 3 : 4;  // batches of operations on them
  return flags + slice.fill.size() + slice.own.size() + slice.pulls.size() + slice.gathers.size() +
         (slice.reducing ? 1 : 0);
}

}  // namespace

Running::Running(const StagingHeap& heap, const stream::Request& request, Plan plan, int turn,
                 std::uint64_t number, std::uint32_t entries_before)
    : heap_(heap),
      request_(request),
      plan_(std::move(plan)),
      signals_(heap),
      turn_(turn),
      number_(number),
      entries_before_(entries_before) {}

int Running::half_of(std::size_t slice) const {
  return (turn_ + static_cast<int>(slice % halves)) % halves;
}

int Running::next_turn() const { return half_of(plan_.slices()); }

bool Running::advance() {
  if (filled_ == 0) signals_.begin(number_);
  if (filled_ == 0) fill(filled_++);
  if (filled_ < plan_.slices()) fill(filled_++);
  empty(emptied_++);
  const bool over = emptied_ == plan_.slices();
  if (over) {
    signals_.end(number_);
  } else if (number_ != 0) {
    signals_.write(heap_.flags().advanced(heap_.rank()),
                   entries_before_ + static_cast<std::uint32_t>(entries_));
  }
  signals_.put(request_.stream);
  return !over;
}

std::size_t Running::entries_left() const {
  return entries_ - counted_since(heap_.flags().advanced(heap_.rank()), entries_before_);
}

void Running::copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes) const {
  cuda::copy(to, from, bytes, request_.stream);
}

void Running::fill_run(const Run& run, cuda::DevicePointer target) const {
  const cuda::DevicePointer input = cuda::address_of(request_.input);
  if (!request_.scale) return copy(target + run.to, input + run.from, run.bytes);
  multiply(heap_.context(), request_.call,
           {.target = target + run.to,
            .source = input + run.from,
            .scalar = scalar_at(request_.scalar, request_.call.type, request_.scalar_later),
            .count = run.bytes / size_of(request_.call.type)},
           request_.stream);
}

void Running::fill(std::size_t index) {
  const Slice slice = plan_.slice(index);
  const int half = half_of(index);
  if (slice.fill.empty() && slice.readers.empty()) return;
  for (int peer = 0; peer < heap_.ranks(); ++peer) {
    if (peer == heap_.rank()) continue;
    if (std::ranges::find(slice.readers, peer) != slice.readers.end()) {
      signals_.take(Signal::free, half, peer);
    } else {
      signals_.await(Signal::free, half, peer);
    }
  }
  if (!slice.fill.empty()) signals_.put(request_.stream);
  for (const Run& run : slice.fill) fill_run(run, own(half));
  for (const int peer : slice.readers) signals_.tell(Signal::filled, half, peer);
}

void Running::pull(const std::vector<Pull>& pulls, int half) const {
  const cuda::DevicePointer output = cuda::address_of(request_.output);
  for (const Pull& each : pulls)
    copy(output + each.run.to, heap_.half(each.rank, half) + each.run.from, each.run.bytes);
}

void Running::reduce(const Slice& slice, int half) const {
  const Reducing& reducing = *slice.reducing;
  Reduction reduction{.count = reducing.count};
  for (int rank = 0; rank < heap_.ranks(); ++rank)
    reduction.sources.push_back(heap_.half(rank, half) + reducing.place);
  reduction.target =
      reducing.to ? cuda::address_of(request_.output) + *reducing.to : own(half) + reducing.place;
  if (reduction.target % size_of(request_.call.type) != 0)
    return reduce_aside(reducing, half, std::move(reduction));
  direct_device::reduce(heap_.context(), request_.call, reduction, request_.stream);
}

/// Reduces into user memory that is not aligned to its elements, as kernels need it to be. The
/// result goes through a place in the own half that no peer reads. The rank's own part of a reduce
/// or reduce_scatter is such a place. In an all_reduce there is room after what a small one takes.
void Running::reduce_aside(const Reducing& reducing, int half, Reduction reduction) const {
  static_assert(2 * Planner::most_one_shot_bytes <= StagingHeap::half_bytes);
  const bool is_all_read = request_.call.collective == Collective::all_reduce;
  const cuda::DevicePointer aside =
      own(half) + (is_all_read ? Planner::most_one_shot_bytes : reducing.place);
  const cuda::DevicePointer to = std::exchange(reduction.target, aside);
  direct_device::reduce(heap_.context(), request_.call, reduction, request_.stream);
  copy(to, aside, reduction.count * size_of(request_.call.type));
}

void Running::empty(std::size_t index) {
  const Slice slice = plan_.slice(index);
  const int half = half_of(index);
  entries_ += entries_of(slice);
  for (const int source : slice.sources) signals_.take(Signal::filled, half, source);
  signals_.put(request_.stream);
  const cuda::DevicePointer output = cuda::address_of(request_.output);
  for (const Run& run : slice.own)
    copy(output + run.to, cuda::address_of(request_.input) + run.from, run.bytes);
  pull(slice.pulls, half);
  if (slice.reducing) reduce(slice, half);
  if (!slice.gathers.empty()) {
    for (const int peer : slice.readers) signals_.tell(Signal::reduced, half, peer);
    for (const int source : slice.sources) signals_.take(Signal::reduced, half, source);
    signals_.put(request_.stream);
    pull(slice.gathers, half);
  }
  for (const int source : slice.sources) signals_.tell(Signal::free, half, source);
}

}  // namespace rondo::direct_device
