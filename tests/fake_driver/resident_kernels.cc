#include "tests/fake_driver/resident_kernels.h"

#include <algorithm>
#include <array>

#include "kernels/device/calls.h"
#include "tests/device/host_group.h"

namespace rondo::test {
namespace {

using device::RankContext;
using device::SmallCall;
using device::test::HostTeam;
using device::test::run_teams;

/// Threads of a block: the result is the same, whatever was asked for. Relaxed: it orders nothing.
std::atomic<std::uint32_t>& threads() {
  static std::atomic<std::uint32_t> threads{2};
  return threads;
}

/// Blocks that wait for others on each device, and what ends them.
struct Running {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::array<unsigned, 8> blocks{};                                    ///< by device; under mutex
  std::vector<std::pair<cuda::Context, device::Control*>> launches{};  ///< under mutex
};

Running& running() {
  static Running& running = *std::make_unique<Running>().release();
  return running;
}

/// A launch's place on its device.
class Place {
 public:
  Place(cuda::Context context, unsigned blocks, device::Control& control)
      : mine_(running().blocks[static_cast<std::size_t>(context->device)]),
        launch_(context, &control) {
    std::unique_lock lock(running().mutex);
    constexpr unsigned most = resident_blocks * processors;
    running().changed.wait(lock, [&] { return mine_ + blocks <= most; });
    mine_ += blocks;
    taken_ = blocks;
    running().launches.push_back(launch_);
  }
  ~Place() {
    const std::scoped_lock lock(running().mutex);
    mine_ -= taken_;
    auto& launches = running().launches;
    launches.erase(std::ranges::find(launches, launch_));
    running().changed.notify_all();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  unsigned& mine_;
  unsigned taken_ = 0;
  const std::pair<cuda::Context, device::Control*> launch_;
};

/// The arenas as the fake reaches them.
using Arenas = std::vector<std::byte*>;

template <class Pointer>
bool translate_pointer(Pointer& pointer, std::size_t bytes, int device) {
  auto address = static_cast<std::uint64_t>(cuda::address_of(pointer));
  const bool there = translate(address, bytes, device);
  pointer = reinterpret_cast<Pointer>(address);
  return there;
}

/// The arenas of `shape` that `table` lists; null where one is out of reach.
std::shared_ptr<Arenas> find_arenas(std::byte* const* table, const device::ArenaShape& shape,
                                    int device) {
  const std::size_t bytes = device::ArenaPlaces(shape).bytes();
  if (!translate_pointer(table, shape.ranks * sizeof(std::byte*), device)) return nullptr;
  auto arenas = std::make_shared<Arenas>(table, table + shape.ranks);
  const bool there = std::ranges::all_of(
      *arenas, [&](std::byte*& arena) { return translate_pointer(arena, bytes, device); });
  return there ? arenas : nullptr;
}

bool translate_marks(device::Marks& marks, int device) {
  if (marks.blocks_ended == nullptr) return true;
  const auto reached = [&](device::Mark& mark) {
    return mark.word == nullptr || translate_pointer(mark.word, sizeof *mark.word, device);
  };
  return translate_pointer(marks.blocks_ended, sizeof *marks.blocks_ended, device) &&
         std::ranges::all_of(marks.begun, reached) && std::ranges::all_of(marks.ended, reached);
}

/// A context that is broken writes nothing more.
void end(HostTeam& team, const device::Marks& marks, unsigned blocks, const Touch& touch) {
  if (!team.any(!touch.works())) mark_end(team, marks, blocks);
}

Work small_work(SmallCall call, unsigned blocks, cuda::Context context) {
  const int device = context->device;
  const auto arenas = find_arenas(call.arenas, call.arena, device);
  const std::size_t bytes = call.count * size_of(call.recipe.type);
  if (arenas == nullptr || !translate_pointer(call.input, bytes, device) ||
      !translate_pointer(call.output, bytes, device) || !translate_marks(call.marks, device) ||
      !translate_pointer(call.control, sizeof *call.control, device))
    return {};
  const std::byte*& scalar = call.recipe.scalar.at;
  if (scalar != nullptr && !translate_pointer(scalar, 1, device)) return {};
  call.arenas = arenas->data();
  return [=, kept = arenas] {
    const Place place(context, blocks, *call.control);
    const Touch touch(context);
    if (!touch.works()) return;
    ++state().resident_launches;
    run_teams(blocks, threads().load(std::memory_order_relaxed),
              [&](HostTeam& team, std::uint32_t block) {
                mark_begin(team, call.marks, block);
                run_small(team, call, block);
                end(team, call.marks, blocks, touch);
              });
  };
}

/// A thread of a kernel, while it may use windows of other ranks.
class InWindows {
 public:
  explicit InWindows(bool is_one) : is_one_(is_one) { state().in_windows += is_one_ ? 1 : 0; }
  ~InWindows() { state().in_windows -= is_one_ ? 1 : 0; }
  InWindows(const InWindows&) = delete;
  InWindows& operator=(const InWindows&) = delete;

 private:
  bool is_one_;
};

/// A buffer that the rank does not have in the call may be anything.
template <class Pointer>
void translate_or_drop(Pointer& pointer, int device) {
  if (!translate_pointer(pointer, 1, device)) pointer = nullptr;
}

Work program_work(RankContext call, unsigned blocks, cuda::Context context) {
  const int device = context->device;
  const auto arenas = find_arenas(call.arenas, call.sizes.arena, device);
  if (arenas == nullptr ||
      !translate_pointer(call.program, sizeof(device::DeviceProgram), device) ||
      !translate_marks(call.marks, device) ||
      !translate_pointer(call.control, sizeof *call.control, device))
    return {};
  const std::byte*& scalar = call.sizes.recipe.scalar.at;
  if (scalar != nullptr && !translate_pointer(scalar, 1, device)) return {};
  translate_or_drop(call.input, device);
  translate_or_drop(call.output, device);
  translate_or_drop(call.scratch, device);
  for (std::byte*& buffer : call.windows.inputs) translate_or_drop(buffer, device);
  for (std::byte*& buffer : call.windows.outputs) translate_or_drop(buffer, device);
  call.arenas = arenas->data();
  return [=, kept = arenas] {
    const Place place(context, blocks, *call.control);
    const Touch touch(context);
    if (!touch.works()) return;
    ++state().resident_launches;
    const bool in_windows =
        reinterpret_cast<const device::DeviceProgram*>(call.program)->stages > 0;
    state().window_launches += in_windows ? 1 : 0;
    run_teams(blocks, threads().load(std::memory_order_relaxed),
              [&](HostTeam& team, std::uint32_t block) {
                mark_begin(team, call.marks, block);
                {
                  const InWindows using_them(in_windows);
                  run_lane_until_taken(team, call, block);
                }
                end(team, call.marks, blocks, touch);
              });
  };
}

constexpr std::array<const char*, 2> names{device::small_kernel, device::program_kernel};

}  // namespace

int resident_kernel(const char* name) {
  const auto found = std::ranges::find(names, std::string(name));
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

Work resident_work(int kernel, const void* argument, unsigned blocks, cuda::Context context) {
  if (kernel == 0) return small_work(*static_cast<const SmallCall*>(argument), blocks, context);
  return program_work(*static_cast<const RankContext*>(argument), blocks, context);
}

void end_resident_kernels(cuda::Context context) {
  const std::scoped_lock lock(running().mutex);
  for (const auto& [its_context, control] : running().launches) {
    // relaxed: it brings no data. Partner: the kernels' looks at it (kernels/device/wait.h).
    if (its_context == context) std::atomic_ref(control->abort).store(1, std::memory_order_relaxed);
  }
}

}  // namespace rondo::test

void fake_block_threads(unsigned threads) {
  rondo::test::threads().store(threads, std::memory_order_relaxed);
}
