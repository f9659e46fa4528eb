#include "transports/verbs/region_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/memory/windows.h"
#include "rondo/error.h"

namespace rondo::verbs {
namespace {

class ProcessSource final : public BlockSource {
 public:
  std::optional<Block> find(const void* memory, std::size_t bytes) const override {
    const auto window = windows_->find(memory, bytes);
    if (!window) return std::nullopt;
    return Block{.number = window->number, .base = window->base, .bytes = window->bytes};
  }
  std::uint64_t freed() const override { return windows_->freed(); }

 private:
  std::shared_ptr<Windows> windows_ = Windows::of_process();
};

bool contains(const Block& block, std::span<const std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto base = reinterpret_cast<std::uintptr_t>(block.base);
  return begin >= base && begin - base <= block.bytes &&
         memory.size() <= block.bytes - (begin - base);
}

}  // namespace

std::shared_ptr<const BlockSource> blocks_of_process() {
  return std::make_shared<const ProcessSource>();
}

RegionCache::RegionCache(std::shared_ptr<const BlockSource> source, Device& device, Limits limits)
    : source_(std::move(source)), device_(device), limits_(limits), freed_(source_->freed()) {
  entries_.reserve(limits_.blocks);
}

std::optional<std::uint32_t> RegionCache::key(std::span<const std::byte> memory) {
  forget_freed();
  Entry* const entry = entry_of(memory);
  if (entry == nullptr) return std::nullopt;
  entry->used = ++uses_;
  if (entry->registration.handle) return entry->registration.key;
  if (entry->refused || entry->copied < entry->block.bytes) {
    entry->copied += memory.size();
    return std::nullopt;
  }
  if (make_room(entry->block)) register_entry(*entry);
  if (entry->registration.handle) return entry->registration.key;
  return std::nullopt;
}

RegionCache::Entry* RegionCache::entry_of(std::span<const std::byte> memory) {
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return contains(entry.block, memory); });
  if (known != entries_.end()) return &*known;
  const auto block = source_->find(memory.data(), memory.size());
  if (!block) return nullptr;
  if (entries_.size() >= limits_.blocks) {
    const auto oldest = std::ranges::min_element(entries_, {}, &Entry::used);
    if (is_read(*oldest)) return nullptr;
    release(*oldest);
    entries_.erase(oldest);
  }
  entries_.push_back({.block = *block});
  return &entries_.back();
}

void RegionCache::register_entry(Entry& entry) {
  try {
    entry.registration = device_.register_block(entry.block);
    ++registrations_;
    registered_bytes_ += entry.block.bytes;
  } catch (const Error&) {
    entry.refused = true;  // most likely the limit of locked memory; copying needs none
  }
}

bool RegionCache::make_room(const Block& block) {
  if (block.bytes > limits_.bytes) return false;
  while (registered_bytes_ > limits_.bytes - block.bytes) {
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      const bool older = oldest == nullptr || entry.used < oldest->used;
      if (entry.registration.handle && older) oldest = &entry;
    }
    if (oldest == nullptr || is_read(*oldest)) return false;
    release(*oldest);
  }
  return true;
}

bool RegionCache::is_read(const Entry& entry) const {
  return entry.registration.handle && entry.used >= device_.oldest_read();
}

/// The block must be copied as much again before it is registered again.
void RegionCache::release(Entry& entry) {
  if (entry.registration.handle) registered_bytes_ -= entry.block.bytes;
  entry.registration = {};
  entry.copied = 0;
}

bool RegionCache::forget_freed() {
  if (const std::uint64_t freed = source_->freed(); freed != freed_) {
    freed_ = freed;
    retire_freed();
  }
  if (!retired_.empty()) release_retired();
  return retired_.empty();
}

void RegionCache::retire_freed() {
  const auto lives = [this](const Entry& entry) {
    const auto now = source_->find(entry.block.base, entry.block.bytes);
    return now && now->number == entry.block.number;
  };
  const auto freed = std::partition(entries_.begin(), entries_.end(), lives);
  std::move(freed, entries_.end(), std::back_inserter(retired_));
  entries_.erase(freed, entries_.end());
}

void RegionCache::release_retired() {
  const auto is_kept = [this](const Entry& entry) { return is_read(entry); };
  const auto unread = std::partition(retired_.begin(), retired_.end(), is_kept);
  std::for_each(unread, retired_.end(), [this](Entry& entry) { release(entry); });
  retired_.erase(unread, retired_.end());
}

}  // namespace rondo::verbs
