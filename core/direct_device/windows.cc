#include "core/direct_device/windows.h"

#include <algorithm>
#include <atomic>

#include "core/base/log.h"
#include "core/control/exchange_values.h"
#include "core/cuda/links.h"

namespace rondo::direct_device {
namespace {

/// Why this rank's buffer cannot be read by others; empty: nothing is known against it. For the
/// current context.
std::string objection_to(const void* buffer, std::size_t bytes) {
  if (bytes == 0) return "it has no bytes";
  if (!cuda::is_device_memory(buffer)) return "it is in the host's memory";
  const cuda::DevicePointer address = cuda::address_of(buffer);
  const int device = cuda::current_device();
  if (const int its = cuda::device_of(address); its != device) {
    return "it is on device " + std::to_string(its) + ", and the communicator's is " +
           std::to_string(device);
  }
  // The driver does not tell the range of managed memory.
  if (cuda::is_managed(address)) return "it is managed memory";
  const cuda::Range range = cuda::range_of(address);
  const bool beyond = bytes > range.bytes - (address - range.begin);
  if (beyond && cuda::segments_of(address, bytes).empty())
    return "it reaches beyond its allocation";
  return {};
}

}  // namespace

/// What a rank tells the others about its buffer.
struct Windows::Offer {
  std::string obstacle{};  ///< what keeps them from reading it
  Exported memory{};       ///< the allocation
  std::size_t offset = 0;  ///< of the buffer within it
  std::size_t bytes = 0;

  static void fields(auto& self, auto& archive) {
    archive(self.obstacle, self.memory, self.offset, self.bytes);
  }
};

Windows::Offer Windows::offer(const void* buffer, std::size_t bytes) const {
  Offer mine;
  mine.obstacle = objection_to(buffer, bytes);
  if (!mine.obstacle.empty()) return mine;
  const cuda::DevicePointer address = cuda::address_of(buffer);
  mine.bytes = bytes;
  const bool shared = cuda::pointer_attribute<int>(cuda::attribute_ipc_capable, address) == 1;
  const auto segments = shared ? std::vector<cuda::Range>() : cuda::segments_of(address, bytes);
  const bool to_processes = !heap_.in_one_process();
  mine.memory = segments.empty() ? export_memory(heap_.context(), cuda::range_of(address).begin,
                                                 shared && to_processes)
                                 : export_segments(heap_.context(), segments, to_processes);
  mine.memory.shared = shared;  // threads of one process reach it without a name
  mine.offset = address - mine.memory.address;
  return mine;
}

/// Why others cannot map what one offers; empty: they can.
std::string Windows::obstacle_to_sharing(const Exported& memory, const std::vector<Offer>& offers) {
  const auto all = [&](const auto& like) {
    return std::ranges::all_of(offers, [&](const Offer& other) { return like(other.memory); });
  };
  const auto near = [&](const Exported& other) { return other.process == memory.process; };
  const auto nearest = [&](const Exported& other) {
    return near(other) && other.context == memory.context;
  };
  if (memory.shared || all(nearest)) return {};
  if (memory.segments.empty())
    return "others cannot map it: it is of a memory pool, not of cudaMalloc or cuMemCreate";
  if (!memory.server.empty() || all(near)) return {};
  return "other processes cannot map it: " + memory.refusal;
}

/// The same words on every rank; none: all can read all.
std::string Windows::obstacle(const std::vector<Offer>& offers) const {
  const Offer& first = offers.front();
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& each = offers[rank];
    const std::string whose = "rank " + std::to_string(rank) + ": ";
    if (!each.obstacle.empty()) return whose + each.obstacle;
    if (each.bytes != first.bytes) {
      return whose + "it has " + std::to_string(each.bytes) + " bytes, and that of rank 0 " +
             std::to_string(first.bytes);
    }
    if (const std::string why = obstacle_to_sharing(each.memory, offers); !why.empty())
      return whose + why;
  }
  if (newest_ + 1 > most_windows) return "too many windows were registered before";
  return {};
}

Windows::Window Windows::map(const std::vector<Offer>& offers,
                             std::chrono::milliseconds patience) const {
  Window window;
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    const Offer& theirs = offers[rank];
    const bool own = static_cast<int>(rank) == heap_.rank();
    const cuda::DevicePointer begin =
        own ? theirs.memory.address : window.mapped.emplace_back(theirs.memory, patience).address();
    window.of_ranks.push_back(begin + theirs.offset);
    if (!own) continue;
    window.begin = window.of_ranks.back();
    window.bytes = theirs.bytes;
  }
  return window;
}

std::uint32_t Windows::add(detail::CommunicatorState* state, const void* buffer,
                           std::size_t bytes) {
  unmap_left();  // before any rank offers what may lie where they did
  const auto unused = [&](const std::string& why) {
    log(LogLevel::info, state->rank(), "calls do not use this window: " + why, LogSubsystem::reg);
    return std::uint32_t{0};
  };
  Offer mine;
  try {
    mine = offer(buffer, bytes);
  } catch (const std::exception& error) {
    mine.obstacle = error.what();
  }
  const std::vector<Offer> offers = exchange_values(state, mine);
  if (const std::string why = obstacle(offers); !why.empty()) return unused(why);
  // From here on nobody may leave the others waiting: the next exchange reports what goes wrong.
  Window window;
  std::string trouble;
  try {
    window = map(offers, state->config().bootstrap_timeout);
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  if (const std::string first = first_said(state->exchange(trouble)); !first.empty()) {
    window.mapped.clear();
    state->exchange("");  // nobody frees what another one still maps
    return unused(first);
  }
  windows_.emplace(++newest_, std::move(window));
  log(LogLevel::info, state->rank(),
      "window " + std::to_string(newest_) + " of " + std::to_string(bytes) +
          " bytes is mapped by all ranks",
      LogSubsystem::reg);
  return newest_;
}

/// Does nothing while a call in a stream or a graph of this rank may still read others' windows.
void Windows::unmap_left() {
  const FlagSegment& flags = heap_.flags();
  // acquire: what graphs that are gone did is done.
  const std::uint32_t captured =
      std::atomic_ref(flags.captured(heap_.rank())).load(std::memory_order_acquire);
  if (captured == 0 && !flags.uses_windows(heap_.rank())) left_.clear();
}

void Windows::remove(std::uint32_t number) {
  const auto found = windows_.find(number);
  if (found != windows_.end()) {
    left_.push_back(std::move(found->second));
    windows_.erase(found);
  }
  unmap_left();
}

WindowPlace Windows::find(const void* buffer, std::size_t bytes) const {
  const cuda::DevicePointer address = cuda::address_of(buffer);
  for (const auto& [number, window] : windows_) {
    if (address < window.begin) continue;
    const std::uint64_t offset = address - window.begin;
    if (offset <= window.bytes && bytes <= window.bytes - offset) return {number, offset};
  }
  return {};
}

cuda::DevicePointer Windows::address(const WindowPlace& place, int rank, std::size_t bytes) const {
  const auto found = windows_.find(place.window);
  const std::size_t has = found == windows_.end() ? 0 : found->second.bytes;
  if (found != windows_.end() && place.offset <= has && bytes <= has - place.offset)
    return found->second.of_ranks[static_cast<std::size_t>(rank)] + place.offset;
  throw Error(ErrorCode::invalid_argument,
              std::to_string(bytes) + " bytes at offset " + std::to_string(place.offset) +
                  " are not in the window, which has " + std::to_string(has) + " bytes",
              {.rank = heap_.rank(), .remedy = "put within what was registered"});
}

std::vector<cuda::DevicePointer> Windows::addresses(const WindowPlace& place) const {
  std::vector<cuda::DevicePointer> all;
  if (place.window == 0) return all;
  all = windows_.at(place.window).of_ranks;
  for (cuda::DevicePointer& each : all) each += place.offset;
  return all;
}

void Windows::close() {
  windows_.clear();
  left_.clear();
}

void Windows::abandon() {
  for (auto& [number, window] : windows_) {
    for (Mapped& each : window.mapped) each.abandon();
  }
  for (Window& window : left_) {
    for (Mapped& each : window.mapped) each.abandon();
  }
  close();
}

}  // namespace rondo::direct_device
