#include "tests/fake_driver/clock.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "tests/device/machine.h"
#include "tests/fake_driver/state.h"
#include "tests/fake_driver/timeline.h"

namespace rondo::test {
namespace {

constexpr StreamCosts costs;

struct Notes {
  /// Times that noting began or ended: odd while it is on. relaxed: threads that put something into
  /// streams begin later and end earlier.
  std::atomic<unsigned> changes{0};
  std::mutex mutex{};
  std::map<const Queue*, Steps> queues{};     ///< under mutex
  Words words{};                              ///< at the beginning; under mutex
  std::map<cuda::Event, unsigned> records{};  ///< of each event so far; under mutex
  std::string unknown{};                      ///< under mutex

  unsigned now() const { return changes.load(std::memory_order_relaxed); }
  bool is_on() const { return now() % 2 != 0; }
};

Notes& notes() {
  static Notes& notes = *std::make_unique<Notes>().release();
  return notes;
}

/// This thread's clock since noting began.
double& clock_of_thread() {
  thread_local unsigned begun = 0;
  thread_local double seconds = 0;
  if (begun != notes().now()) seconds = 0;
  begun = notes().now();
  return seconds;
}

/// With the mutex held.
void note(cuda::Stream stream, Step step) {
  step.issued = clock_of_thread();
  notes().queues[stream->queue.get()].push_back(std::move(step));
}

/// A copy or kernel in the stream, with the trip of what crosses links.
Step moving(double cost, int device, std::vector<Use> uses) {
  const bool crosses = std::ranges::any_of(uses, [&](const Use& use) {
    return use.resource / paths != static_cast<std::size_t>(device);
  });
  const double trip = crosses ? 2 * device::test::Machine{}.link_latency : 0;
  return {.cost = cost + trip, .uses = std::move(uses)};
}

void note_event(cuda::Stream stream, cuda::Event event, bool waits) {
  if (!notes().is_on()) return;
  const std::scoped_lock lock(notes().mutex);
  unsigned& count = notes().records[event];
  if (!waits) ++count;
  note(stream, {.cost = costs.entry,
                .waits = waits ? event : nullptr,
                .writes = waits ? nullptr : event,
                .value = count,
                .or_more = true});
}

}  // namespace

void spend_call(bool puts) {
  if (notes().is_on()) clock_of_thread() += puts ? costs.put - costs.call : costs.call;
}

void note_unknown(const char* what) {
  if (!notes().is_on()) return;
  const std::scoped_lock lock(notes().mutex);
  notes().unknown = what;
}

void note_copy(cuda::Stream stream, cuda::DevicePointer to, cuda::DevicePointer from,
               std::size_t bytes) {
  if (!notes().is_on()) return;
  const int source = device_number(from);
  const int target = device_number(to);
  if (source < 0 || target < 0) return note_unknown("a copy from or to the host's memory");
  std::vector<Use> uses;
  add_read(uses, target, source, static_cast<double>(bytes));
  add_write(uses, target, target, static_cast<double>(bytes));
  const std::scoped_lock lock(notes().mutex);
  note(stream, moving(costs.entry, stream->context->device, std::move(uses)));
}

void note_kernel(cuda::Stream stream, const device::Pieces& pieces, std::size_t bytes,
                 std::size_t count) {
  if (!notes().is_on()) return;
  const std::size_t each = pieces.sources + pieces.targets;
  const int device = stream->context->device;
  std::vector<Use> uses;
  for (std::size_t i = 0; i < count * each; ++i) {
    if (pieces.pointers[i] == 0) continue;
    const int at = device_number(pieces.pointers[i]);
    if (at < 0) return note_unknown("a kernel that reaches the host's memory");
    (i % each < pieces.sources ? add_read : add_write)(uses, device, at,
                                                       static_cast<double>(bytes));
  }
  const std::scoped_lock lock(notes().mutex);
  note(stream, moving(costs.kernel, device, std::move(uses)));
}

void note_operations(cuda::Stream stream, std::span<const cuda::MemoryOperation> operations) {
  if (!notes().is_on()) return;
  const std::scoped_lock lock(notes().mutex);
  double cost = costs.entry;
  for (const cuda::MemoryOperation& each : operations) {
    std::byte* const word = reachable(each.address, sizeof(unsigned));
    // Nothing that was noted has written it before: it was not in a stream yet. relaxed: only a number.
    const std::atomic_ref value(*reinterpret_cast<unsigned*>(word));
    notes().words.try_emplace(word, value.load(std::memory_order_relaxed));
    const bool waits = each.operation == cuda::operation_wait_value;
    note(stream, {.cost = cost + costs.operation,
                  .waits = waits ? word : nullptr,
                  .writes = waits ? nullptr : word,
                  .value = static_cast<unsigned>(each.value),
                  .or_more = waits && each.flags == cuda::wait_value_reached});
    cost = 0;
  }
}

void note_record(cuda::Stream stream, cuda::Event event) { note_event(stream, event, false); }
void note_wait(cuda::Stream stream, cuda::Event event) { note_event(stream, event, true); }

}  // namespace rondo::test

using namespace rondo::test;

extern "C" {

void fake_note_times() {
  const std::scoped_lock lock(notes().mutex);
  notes().queues.clear();
  notes().words.clear();
  notes().records.clear();
  notes().unknown.clear();
  if (!notes().is_on()) notes().changes.fetch_add(1, std::memory_order_relaxed);
}

double fake_predicted_seconds() {
  const std::scoped_lock lock(notes().mutex);
  if (notes().is_on()) notes().changes.fetch_add(1, std::memory_order_relaxed);
  if (!notes().unknown.empty()) throw std::runtime_error("no time is known for " + notes().unknown);
  std::vector<Steps> streams;
  for (const auto& [queue, steps] : notes().queues) streams.push_back(steps);
  return seconds_of(streams, notes().words);
}
}
