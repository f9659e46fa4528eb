#include "kernels/cuda/image.h"

// The files' bytes as they are: as arrays in C++ they would take the compiler minutes.
#define RONDO_IMAGE(name, file) \
  __asm__(                      \
      ".pushsection .rodata\n"  \
      ".balign 64\n"            \
      ".hidden rondo_" name     \
      "_begin\n"                \
      ".hidden rondo_" name     \
      "_end\n"                  \
      ".globl rondo_" name      \
      "_begin\n"                \
      "rondo_" name             \
      "_begin:\n"               \
      ".incbin \"" file         \
      "\"\n"                    \
      ".globl rondo_" name      \
      "_end\n"                  \
      "rondo_" name             \
      "_end:\n"                 \
      ".byte 0\n"               \
      ".popsection\n")
RONDO_IMAGE("kernel_image", RONDO_KERNEL_IMAGE);
RONDO_IMAGE("resident_image", RONDO_RESIDENT_IMAGE);
#undef RONDO_IMAGE

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte rondo_kernel_image_begin[];
[[gnu::visibility("hidden")]] extern const std::byte rondo_kernel_image_end[];
[[gnu::visibility("hidden")]] extern const std::byte rondo_resident_image_begin[];
[[gnu::visibility("hidden")]] extern const std::byte rondo_resident_image_end[];
}

namespace rondo {

std::span<const std::byte> kernel_image() {
  return {rondo_kernel_image_begin, rondo_kernel_image_end};
}

std::span<const std::byte> resident_image() {
  return {rondo_resident_image_begin, rondo_resident_image_end};
}

}  // namespace rondo
