// Takes a cache line ahead of time, for code that knows where it will write next.
#pragma once

namespace rondo::detail {

/// Asks for the line at `address` in order to write to it soon. Other processors' copies are
/// dropped while this one does something else, so the store finds the line its own. Changes
/// nothing, waits for nothing. Costs a fetch to processors that still read the line.
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
