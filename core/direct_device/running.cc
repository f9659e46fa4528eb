#include "core/direct_device/running.h"

#include <algorithm>

#include "core/direct_device/reduce.h"

namespace rondo::direct_device {

static_assert(most_ranks <= most_operands);

Running::Running(const Area& area, const stream::Request& request, int turn, std::uint64_t number)
    : area_(area),
      request_(request),
      plan_(request.call, area.rank(), area.ranks(), Area::half_bytes),
      signals_(area),
      turn_(turn),
      number_(number) {}

int Running::half_of(std::size_t slice) const {
  return (turn_ + static_cast<int>(slice % halves)) % halves;
}

int Running::next_turn() const { return half_of(plan_.slices()); }

cuda::DevicePointer Running::own_half(std::size_t slice) const {
  return area_.half(area_.rank(), half_of(slice));
}

bool Running::advance() {
  if (filled_ == 0) {
    if (number_ != 0)
      signals_.write(area_.page().begun(area_.rank()), static_cast<std::uint32_t>(number_));
    fill(filled_++);
  }
  if (filled_ < plan_.slices()) fill(filled_++);
  empty(emptied_++);
  const bool over = emptied_ == plan_.slices();
  if (over && number_ != 0)
    signals_.write(area_.page().completed(area_.rank()), static_cast<std::uint32_t>(number_));
  signals_.put(request_.stream);
  return !over;
}

void Running::copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t bytes) const {
  if (to == from) return;
  cuda::check(cuda::driver().memcpy_async(to, from, bytes, request_.stream), "cuMemcpyAsync");
}

void Running::fill_run(const Run& run, cuda::DevicePointer half) const {
  const cuda::DevicePointer input = cuda::address_of(request_.input);
  if (!request_.scale) return copy(half + run.to, input + run.from, run.bytes);
  multiply(area_.context(), request_.call,
           {.target = half + run.to,
            .source = input + run.from,
            .scalar = request_.scalar,
            .count = run.bytes / size_of(request_.call.type)},
           request_.stream);
}

void Running::fill(std::size_t index) {
  const Slice slice = plan_.slice(index);
  const int half = half_of(index);
  if (!slice.fill.empty()) {
    for (int peer = 0; peer < area_.ranks(); ++peer) {
      if (peer == area_.rank()) continue;
      if (std::ranges::find(slice.readers, peer) != slice.readers.end()) {
        signals_.take(Signal::free, half, peer);
      } else {
        signals_.await(Signal::free, half, peer);
      }
    }
    signals_.put(request_.stream);
    for (const Run& run : slice.fill) fill_run(run, own_half(index));
    for (const int peer : slice.readers) signals_.tell(Signal::filled, half, peer);
  }
}

void Running::pull(const std::vector<Pull>& pulls, int half) const {
  const cuda::DevicePointer output = cuda::address_of(request_.output);
  for (const Pull& each : pulls)
    copy(output + each.run.to, area_.half(each.rank, half) + each.run.from, each.run.bytes);
}

void Running::reduce(const Reducing& reducing, int half) const {
  Reduction reduction{.count = reducing.count};
  for (int rank = 0; rank < area_.ranks(); ++rank)
    reduction.sources.push_back(area_.half(rank, half) + reducing.place);
  reduction.target = reducing.output ? cuda::address_of(request_.output) + *reducing.output
                                     : area_.half(area_.rank(), half) + reducing.place;
  direct_device::reduce(area_.context(), request_.call, reduction, request_.stream);
}

void Running::empty(std::size_t index) {
  const Slice slice = plan_.slice(index);
  const int half = half_of(index);
  for (const int source : slice.sources) signals_.take(Signal::filled, half, source);
  signals_.put(request_.stream);
  const cuda::DevicePointer output = cuda::address_of(request_.output);
  for (const Run& run : slice.own)
    copy(output + run.to, cuda::address_of(request_.input) + run.from, run.bytes);
  pull(slice.pulls, half);
  if (slice.reducing) reduce(*slice.reducing, half);
  if (!slice.gathers.empty()) {
    for (const int peer : slice.readers) signals_.tell(Signal::reduced, half, peer);
    for (const int source : slice.sources) signals_.take(Signal::reduced, half, source);
    signals_.put(request_.stream);
    pull(slice.gathers, half);
  }
  for (const int source : slice.sources) signals_.tell(Signal::free, half, source);
}

}  // namespace rondo::direct_device
