#include "core/memory/device_blocks.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/undying.h"

namespace rondo {

std::shared_ptr<DeviceBlocks> DeviceBlocks::of_process() {
  static const auto& blocks =
      *undying<std::shared_ptr<DeviceBlocks>>(std::make_shared<DeviceBlocks>());
  return blocks;
}

std::shared_ptr<void> DeviceBlocks::offer(const std::shared_ptr<DeviceBlocks>& blocks,
                                          const void* base, std::size_t bytes, UniqueFd dmabuf) {
  const std::uint64_t number =
      blocks->add({.base = static_cast<const std::byte*>(base), .bytes = bytes}, std::move(dmabuf));
  return {const_cast<void*>(base), [blocks, number](void*) { blocks->remove(number); }};
}

std::uint64_t DeviceBlocks::add(DeviceBlock block, UniqueFd dmabuf) {
  const std::unique_lock lock(mutex_);
  block.number = ++last_number_;
  block.dmabuf = dmabuf.get();
  entries_.push_back({block, std::move(dmabuf)});
  count_.fetch_add(1, std::memory_order_relaxed);
  return block.number;
}

void DeviceBlocks::remove(std::uint64_t number) {
  const std::unique_lock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.block.number == number; });
  count_.fetch_sub(1, std::memory_order_relaxed);
  taken_back_.fetch_add(1, std::memory_order_relaxed);
}

std::optional<DeviceBlock> DeviceBlocks::find(const void* memory, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::shared_lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    const auto base = reinterpret_cast<std::uintptr_t>(entry.block.base);
    return begin >= base && begin - base <= entry.block.bytes &&
           bytes <= entry.block.bytes - (begin - base);
  });
  if (found == entries_.end()) return std::nullopt;
  return found->block;
}

}  // namespace rondo
