// A cache line taken ahead of time, by those who know where they will write next.
#pragma once

namespace rondo::detail {

/// Asks for the line at `address` to write to it soon: other processors' copies are dropped while
/// this one does something else, and the store finds the line its own. Changes nothing, waits for
/// nothing. Costs others who still read the line a fetch.
inline void claim_line(const void* address) {
#if defined(__x86_64__)
  // In asm, since the baseline instruction set lacks it and __builtin_prefetch() would fetch the
  // line to read. Processors without it take it for no operation.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace rondo::detail
