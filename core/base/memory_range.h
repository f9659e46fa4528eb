// Ranges of memory, the host's or a device's, by address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

struct MemoryRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::uintptr_t end() const { return begin + bytes; }
};

/// Ranges that are written in unknown order, so nothing else may overlap them. Empty ranges overlap
/// nothing.
class WrittenMemory {
 public:
  explicit WrittenMemory(std::vector<MemoryRange> ranges) : ranges_(std::move(ranges)) {
    std::erase_if(ranges_, [](const MemoryRange& range) { return range.bytes == 0; });
    std::ranges::sort(ranges_, {}, &MemoryRange::begin);
  }

  /// One more.
  void add(const MemoryRange& range) {
    if (range.bytes == 0) return;
    ranges_.insert(std::ranges::upper_bound(ranges_, range.begin, {}, &MemoryRange::begin), range);
  }

  /// Whether two of its ranges overlap.
  bool meets_itself() const {
    const auto overlaps_next = [](const MemoryRange& a, const MemoryRange& b) {
      return b.begin < a.end();
    };
    return std::ranges::adjacent_find(ranges_, overlaps_next) != ranges_.end();
  }
  /// Whether `read` overlaps any of the ranges. Only while !meets_itself(): then ranges that begin
  /// later end later.
  bool meets(const MemoryRange& read) const {
    if (read.bytes == 0) return false;
    const auto behind = std::ranges::lower_bound(ranges_, read.end(), {}, &MemoryRange::begin);
    return behind != ranges_.begin() && read.begin < (behind - 1)->end();
  }

 private:
  std::vector<MemoryRange> ranges_;  ///< by their begin
};

}  // namespace rondo
