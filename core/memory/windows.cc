#include "core/memory/windows.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "core/base/undying.h"

namespace rondo {
namespace {

/// The first entry whose base is after `at`. std::less orders pointers of different blocks.
auto behind(auto& entries, const std::byte* at) {
  return std::upper_bound(entries.begin(), entries.end(), at,
                          [](const std::byte* address, const auto& entry) {
                            return std::less<>()(address, entry.window.base);
                          });
}

}  // namespace

std::shared_ptr<Windows> Windows::of_process() {
  static const auto& registry = *undying<std::shared_ptr<Windows>>(std::make_shared<Windows>());
  return registry;
}

std::shared_ptr<void> Windows::allocate(const std::shared_ptr<Windows>& registry,
                                        std::size_t bytes) {
  auto memory =
      std::make_shared<SharedMemory>(make_shared_memory(bytes, "a block of shared memory"));
  registry->add(*memory);
  void* const start = memory->mapping.data();
  // Out of the registry before the addresses may be another block's.
  return {start, [registry, memory = std::move(memory), owner = ::getpid()](void* base) mutable {
            registry->remove(static_cast<std::byte*>(base));
            // Peers unmap it in the midst of some later call, which must not take long. Not a
            // forked child's to do: its parent still works on the same pages.
            if (::getpid() == owner) give_back(*memory);
            memory.reset();
          }};
}

void Windows::add(const SharedMemory& memory) {
  const std::unique_lock lock(mutex_);
  const std::byte* const base = memory.mapping.data();
  entries_.insert(behind(entries_, base),
                  {{++last_number_, base, memory.mapping.size()}, memory.descriptor.get()});
}

void Windows::remove(const std::byte* base) {
  const std::unique_lock lock(mutex_);
  entries_.erase(behind(entries_, base) - 1);
  freed_.fetch_add(1, std::memory_order_relaxed);
}

std::optional<WindowBlock> Windows::find(const void* memory, std::size_t bytes) const {
  const auto* const start = static_cast<const std::byte*>(memory);
  const std::shared_lock lock(mutex_);
  const auto after = behind(entries_, start);
  if (after == entries_.begin()) return std::nullopt;
  const WindowBlock& window = (after - 1)->window;
  const auto offset = static_cast<std::size_t>(start - window.base);
  if (offset > window.bytes || bytes > window.bytes - offset) return std::nullopt;
  return window;
}

bool Windows::has(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(entries_,
                             [&](const Entry& entry) { return entry.window.number == number; });
}

std::optional<Windows::Handle> Windows::open(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  const auto found =
      std::ranges::find(entries_, number, [](const Entry& entry) { return entry.window.number; });
  if (found == entries_.end()) return std::nullopt;
  return Handle{found->window, UniqueFd(::fcntl(found->descriptor, F_DUPFD_CLOEXEC, 0))};
}

}  // namespace rondo
