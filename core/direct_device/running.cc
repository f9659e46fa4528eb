#include "core/direct_device/running.h"

#include <algorithm>
#include <utility>

#include "core/schedule/layout.h"
#include "core/stream/buffers.h"

namespace rondo::direct_device {

static_assert(most_ranks <= most_operands);

namespace {

/// The entries of a slice on its way in and out.
std::size_t entries_of(const Slice& slice) {
  const std::size_t flags = slice.gathers.empty() ? 3 : 4;  // batches of operations on them
  return flags + slice.fill.size() + slice.own.size() + slice.pulls.size() + slice.gathers.size() +
         slice.late.size() + (slice.reducing ? 1 : 0);
}

}  // namespace

bool overlap(const stream::Request& request, int rank, int ranks) {
  const cuda::DevicePointer input = cuda::address_of(request.input);
  const cuda::DevicePointer output = cuda::address_of(request.output);
  return input < output + bytes_of(request, Buffer::output, rank, ranks) &&
         output < input + bytes_of(request, Buffer::input, rank, ranks);
}

WindowPlaces places_of(const stream::Request& request, const Windows& windows, int rank,
                       int ranks) {
  const Call& call = request.call;
  const auto find = [&](Buffer buffer) -> WindowPlace {
    const void* const begin = buffer == Buffer::input ? request.input : request.output;
    const WindowPlace place = windows.find(begin, bytes_of(request, buffer, rank, ranks));
    // Kernels read and write whole elements, on every rank; what is staged may lie anywhere.
    const auto is_aligned = [&](cuda::DevicePointer address) {
      return address % size_of(call.type) == 0;
    };
    return std::ranges::all_of(windows.addresses(place), is_aligned) ? place : WindowPlace{};
  };
  if (request.scale) return {};
  WindowPlaces places;
  switch (call.collective) {
    case Collective::all_gather:
      places.output = find(Buffer::output);
      return places;
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      places.input = find(Buffer::input);
      return places;
    case Collective::all_reduce:
      places.input = find(Buffer::input);
      if (places.input.window != 0 && call.count * size_of(call.type) > Plan::most_one_shot_bytes)
        places.output = find(Buffer::output);
      return places;
    default:
      return places;
  }
}

Running::Running(const StagingHeap& heap, const stream::Request& request, Buffers buffers, int turn,
                 std::uint64_t number, std::uint32_t entries_before)
    : heap_(heap),
      request_(request),
      buffers_(std::move(buffers)),
      plan_(request.call, heap.rank(), heap.ranks(), StagingHeap::half_bytes,
            {.input = !buffers_.inputs.empty(), .output = !buffers_.outputs.empty()},
            overlap(request_, heap.rank(), heap.ranks()), request_.counts),
      signals_(heap),
      turn_(turn),
      number_(number),
      entries_before_(entries_before) {}

int Running::half_of(std::size_t slice) const {
  return (turn_ + static_cast<int>(slice % halves)) % halves;
}

int Running::next_turn() const { return half_of(plan_.slices()); }

cuda::DevicePointer Running::at(Where where, int rank, int half) const {
  const auto of = static_cast<std::size_t>(rank);
  switch (where) {
    case Where::half:
      break;
    case Where::input:
      return rank == heap_.rank() ? cuda::address_of(request_.input) : buffers_.inputs[of];
    case Where::output:
      return rank == heap_.rank() ? cuda::address_of(request_.output) : buffers_.outputs[of];
  }
  return heap_.half(rank, half);
}

bool Running::advance() {
  if (filled_ == 0) begin();
  if (filled_ == 0) fill(filled_++);
  if (filled_ < plan_.slices()) fill(filled_++);
  empty(emptied_++);
  const bool over = emptied_ == plan_.slices();
  if (over) {
    end();
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

/// A rank that reads others' buffers says so, for their owners and for a rank that gives up.
void Running::begin() {
  signals_.begin(number_);
  if (number_ != 0 || !reads_windows()) return;
  const FlagSegment& flags = heap_.flags();
  signals_.write(flags.replaying(heap_.rank()), 1);
  signals_.write(flags.replayed(heap_.rank()), ~std::uint32_t{0});
}

void Running::end() {
  if (reads_windows()) await_readers();
  signals_.end(number_);
  if (number_ == 0 && reads_windows()) signals_.write(heap_.flags().replaying(heap_.rank()), 0);
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
  for (const Run& run : slice.fill) fill_run(run, own(slice.shown, half));
  for (const int peer : slice.readers) signals_.tell(Signal::filled, half, peer);
}

void Running::pull(const std::vector<Pull>& pulls, Where from, int half) const {
  const cuda::DevicePointer output = cuda::address_of(request_.output);
  for (const Pull& each : pulls)
    copy(output + each.run.to, at(from, each.rank, half) + each.run.from, each.run.bytes);
}

void Running::reduce(const Slice& slice, int half) const {
  const Reducing& reducing = *slice.reducing;
  Reduction reduction{.count = reducing.count};
  for (int rank = 0; rank < heap_.ranks(); ++rank)
    reduction.sources.push_back(at(slice.shown, rank, half) + reducing.place);
  reduction.target = own(reducing.target, half) + reducing.at;
  if (reduction.target % size_of(request_.call.type) != 0)
    return reduce_aside(slice, half, std::move(reduction));
  direct_device::reduce(heap_.context(), request_.call, reduction, request_.stream);
}

/// Reduces into user memory that is not aligned to its elements, as kernels need it to be. The
/// result goes through a place in the own half that no peer reads. The rank's own part of a reduce
/// or reduce_scatter is such a place. In an all_reduce there is room after what a small slice
/// takes. In windows the half is free, and shorter than what may be asked for.
void Running::reduce_aside(const Slice& slice, int half, Reduction reduction) const {
  static_assert(2 * Plan::most_one_shot_bytes <= StagingHeap::half_bytes);
  const bool shares_half = slice.shown == Where::half;
  const bool is_all_read = shares_half && request_.call.collective == Collective::all_reduce;
  const std::size_t place = is_all_read   ? Plan::most_one_shot_bytes
                            : shares_half ? slice.reducing->place
                                          : 0;
  const std::size_t element = size_of(request_.call.type);
  const std::size_t most = (StagingHeap::half_bytes - place) / element;
  const std::size_t all = reduction.count;
  cuda::DevicePointer to = std::exchange(reduction.target, own(Where::half, half) + place);
  for (std::size_t done = 0; done < all; done += reduction.count) {
    reduction.count = std::min(most, all - done);
    const std::size_t bytes = reduction.count * element;
    direct_device::reduce(heap_.context(), request_.call, reduction, request_.stream);
    copy(to, reduction.target, bytes);
    to += bytes;
    for (cuda::DevicePointer& source : reduction.sources) source += bytes;
  }
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
  pull(slice.pulls, slice.shown, half);
  if (slice.reducing) reduce(slice, half);
  if (!slice.gathers.empty()) {
    for (const int peer : slice.readers) signals_.tell(Signal::reduced, half, peer);
    for (const int source : slice.sources) signals_.take(Signal::reduced, half, source);
    signals_.put(request_.stream);
    pull(slice.gathers, slice.reduced, half);
  }
  for (const int source : slice.sources) signals_.tell(Signal::free, half, source);
}

/// Waits for the readers of the slices that no later slice has waited for.
void Running::await_readers() {
  const std::size_t slices = plan_.slices();
  for (std::size_t index = slices - std::min<std::size_t>(slices, halves); index < slices;
       ++index) {
    const Slice slice = plan_.slice(index);
    const int half = half_of(index);
    for (const int reader : slice.readers) signals_.await(Signal::free, half, reader);
    if (slice.late.empty()) continue;
    signals_.put(request_.stream);
    for (const Run& run : slice.late)
      copy(own(Where::output, half) + run.to, own(Where::half, half) + run.from, run.bytes);
  }
}

void put_resident(const StagingHeap& heap, resident::Executor& executor,
                  const stream::Request& request, std::uint64_t number) {
  Signals signals(heap);
  signals.begin(number);
  signals.put(request.stream);
  const device::Scalar scalar =
      request.scale ? scalar_at(request.scalar, request.call.type, request.scalar_later)
                    : device::Scalar{};
  executor.launch(request.call, scalar, cuda::address_of(request.input),
                  cuda::address_of(request.output), request.stream);
  signals.end(number);
  signals.put(request.stream);
}

}  // namespace rondo::direct_device
