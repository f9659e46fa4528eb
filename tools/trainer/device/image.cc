#include "tools/trainer/device/image.h"

// Includes the file's bytes directly. As an array in C++ they would take the compiler minutes.
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".hidden rondo_train_image_begin\n"
    ".hidden rondo_train_image_end\n"
    ".globl rondo_train_image_begin\n"
    "rondo_train_image_begin:\n"
    ".incbin \"" RONDO_TRAIN_IMAGE
    "\"\n"
    ".globl rondo_train_image_end\n"
    "rondo_train_image_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte rondo_train_image_begin[];
[[gnu::visibility("hidden")]] extern const std::byte rondo_train_image_end[];
}

namespace rondo::train::device {

std::span<const std::byte> kernel_image() {
  return {rondo_train_image_begin, rondo_train_image_end};
}

}  // namespace rondo::train::device
