#include "bench/floor/flags.h"

#include <sched.h>

#include "bench/floor/all_reduce.h"
#include "bench/floor/sources.h"

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

void Flags::tell(std::uint64_t value) {
  Line& own = line(rank_);
  own.value = value;
  // release: publishes the value, and what this member wrote before; pairs with hear()'s acquire.
  own.number.store(number_, std::memory_order_release);
}

std::uint64_t Flags::hear(int member) const {
  const Line& other = line(member);
  // acquire: pairs with tell()'s release.
  for (unsigned looks = 0; other.number.load(std::memory_order_acquire) != number_; ++looks) {
    if (looks > looks_before_yield) ::sched_yield();
  }
  return other.value;
}

std::uint64_t Flags::share(std::uint64_t value) {
  ++number_;
  tell(value);
  std::uint64_t sum = value;
  for (int hops = 1; hops < size_; ++hops) sum += hear((rank_ + hops) % size_);
  return sum;
}

void Flags::ping_pong() {
  ++number_;
  if (rank_ == 0) tell(number_);
  if (rank_ <= 1) hear(1 - rank_);
  if (rank_ == 1) tell(number_);  // after it heard: member 0 hears this one as its answer
}

Source flag_probes(std::shared_ptr<Flags> flags, const Member& member, std::size_t smallest) {
  return {[=, &member](std::size_t bytes, std::vector<Probe>& probes) {
    if (bytes != smallest) return;
    probes.push_back({probe::flags, bytes, 0, {.run = repeated([=] { flags->share(1); })}});
    if (member.size() < 2) return;
    // Two calls, one message each, are a round trip.
    probes.push_back({probe::ping_pong, bytes, 0, {.run = [=](int calls) {
                        for (int call = 0; call < calls; call += 2) flags->ping_pong();
                      }}});
  }};
}

}  // namespace rondo::bench
