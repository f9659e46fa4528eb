// Blocks of bytes copied, through the caches or past them, and the name of the instruction set.
#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/copy.cc"
#include "hwy/foreach_target.h"
// foreach_target comes first
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hwy/highway.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Past the caches go whole cache lines only: a part of one would make memory read, merge and write
/// the line. The rest at either end is an ordinary copy. The input needs no alignment.
void stream(std::byte* output, const std::byte* input, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t head =
      std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(output) % line) % line);
  std::memcpy(output, input, head);
  const std::size_t end = bytes - (bytes - head) % line;
  auto* to = reinterpret_cast<std::uint8_t*>(output);
  const auto* from = reinterpret_cast<const std::uint8_t*>(input);
  for (std::size_t at = head; at < end; at += line) {
    for (std::size_t part = 0; part < line; part += hn::Lanes(d)) {
      hn::Stream(hn::LoadU(d, from + at + part), d, to + at + part);
    }
  }
  std::memcpy(output + end, input + end, bytes - end);
}

void keep(std::byte* output, const std::byte* input, std::size_t bytes) {
  std::memcpy(output, input, bytes);
}

CopyKernel copying(bool streaming) { return streaming ? stream : keep; }

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace rondo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace cpu {
HWY_EXPORT(copying);
HWY_EXPORT(target_name);
CopyKernel find_copy(bool streaming) { return HWY_DYNAMIC_DISPATCH(copying)(streaming); }
static const char* current_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }
}  // namespace cpu

std::string_view reduce_target() { return cpu::current_target(); }
}  // namespace rondo
#endif
