#include "bench/floor/flags.h"

#include <sched.h>

namespace rondo::bench {
namespace {

/// Where members share a core, the answer comes only when this one gives way. Otherwise so many
/// looks are never needed.
constexpr unsigned looks_before_yield = 5000;

}  // namespace

std::size_t Flags::bytes_for(int members) {
  return static_cast<std::size_t>(members) * 2 * sizeof(Line);
}

Flags::Flags(const Member& member, SharedMemory& memory)
    : rank_(member.rank()),
      size_(member.size()),
      lines_(reinterpret_cast<Line*>(memory.data())) {}  // zero bytes are lines that said nothing

void Flags::meet() {
  ++number_;
  // release: publishes what this member wrote before; pairs with the acquire below.
  line(rank_).number.store(number_, std::memory_order_release);
  for (int hops = 1; hops < size_; ++hops) {
    const Line& other = line((rank_ + hops) % size_);
    for (unsigned looks = 0; other.number.load(std::memory_order_acquire) != number_; ++looks) {
      if (looks > looks_before_yield) ::sched_yield();
    }
  }
}

}  // namespace rondo::bench
