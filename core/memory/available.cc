#include "core/memory/available.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/base/text.h"

namespace rondo {
namespace {

using Path = std::filesystem::path;

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// Nothing where there is no such file, or where it says "max".
std::optional<std::size_t> number_in(const Path& file) {
  std::ifstream stream(file);
  std::size_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

/// The sum of the lines "name number ..." with these names; nothing where there is none.
std::optional<std::size_t> sum_in(const Path& file, std::initializer_list<std::string_view> names) {
  std::ifstream stream(file);
  std::optional<std::size_t> sum;
  std::string name;
  std::string rest;
  for (std::size_t number = 0; stream >> name >> number; std::getline(stream, rest)) {
    if (std::ranges::find(names, name) != names.end()) sum = sum.value_or(0) + number;
  }
  return sum;
}

std::size_t difference(std::size_t more, std::size_t less) { return more > less ? more - less : 0; }

std::size_t sum_within_range(std::size_t one, std::size_t other) {
  return one > unlimited - other ? unlimited : one + other;
}

/// A group of version 2: memory and swap have a limit each.
std::size_t room_in_unified(const Path& group, std::size_t free_swap) {
  const auto limit = number_in(group / "memory.max");
  if (!limit) return unlimited;
  const std::size_t used =
      difference(number_in(group / "memory.current").value_or(0),
                 sum_in(group / "memory.stat", {"active_file", "inactive_file", "slab_reclaimable"})
                     .value_or(0));
  const std::size_t swap = difference(number_in(group / "memory.swap.max").value_or(unlimited),
                                      number_in(group / "memory.swap.current").value_or(0));
  return sum_within_range(difference(*limit, used), std::min(swap, free_swap));
}

/// A group of version 1: a limit of memory, and one of memory and swap together.
std::size_t room_in_legacy(const Path& group, std::size_t free_swap) {
  const auto limit = number_in(group / "memory.limit_in_bytes");
  if (!limit) return unlimited;
  const std::size_t cached =
      sum_in(group / "memory.stat", {"total_active_file", "total_inactive_file"}).value_or(0);
  const auto room = [&](std::size_t most, const char* usage) {
    return difference(most, difference(number_in(group / usage).value_or(0), cached));
  };
  const std::size_t both = number_in(group / "memory.memsw.limit_in_bytes").value_or(unlimited);
  return std::min(sum_within_range(room(*limit, "memory.usage_in_bytes"), free_swap),
                  room(both, "memory.memsw.usage_in_bytes"));
}

/// From the group outwards: each can only give what its parent has. Where the mount does not reach
/// as far out as the group's name does, as in containers, the inner folders are just not there.
template <class Room>
void limit_by(Available& available, const Path& mount, const std::string& name, Room room) {
  // A group outside of this process's name space is none that it can see.
  Path group = name.find("/..") == std::string::npos ? Path(name) : Path("/");
  for (;; group = group.parent_path()) {
    const std::size_t bytes = room(mount / group.relative_path());
    if (bytes < available.bytes) available = {bytes, group.string()};
    if (!group.has_relative_path()) return;
  }
}

}  // namespace

Available available_memory(const Path& root) {
  const Path meminfo = root / "proc/meminfo";
  const std::size_t free_swap = sum_in(meminfo, {"SwapFree:"}).value_or(0) << 10;
  Available available;
  if (const auto kilobytes = sum_in(meminfo, {"MemAvailable:"}))
    available.bytes = (*kilobytes << 10) + free_swap;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "number:controllers:name"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const std::string name = line.substr(second + 1);
    if (line.starts_with("0::")) {
      limit_by(available, root / "sys/fs/cgroup", name,
               [&](const Path& group) { return room_in_unified(group, free_swap); });
    } else if (std::ranges::find(controllers, "memory") != controllers.end()) {
      limit_by(available, root / "sys/fs/cgroup/memory", name,
               [&](const Path& group) { return room_in_legacy(group, free_swap); });
    }
  }
  return available;
}

Available available_memory() { return available_memory("/"); }

}  // namespace rondo
