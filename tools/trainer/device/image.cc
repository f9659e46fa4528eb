// The trainer's kernel as bytes inside the program: what CUDA's driver loads as a module.
#include "tools/trainer/device/driver.h"

#ifdef RONDO_TRAIN_IMAGE
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

std::span<const std::byte> rondo::train::device::kernel_image() {
  return {rondo_train_image_begin, rondo_train_image_end};
}
#else  // built without nvcc
std::span<const std::byte> rondo::train::device::kernel_image() { return {}; }
#endif
