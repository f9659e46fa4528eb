// Which images of kernels a driver takes. What is known:
//
// - PTX says which version of the language it is in. A driver takes those that its own CUDA has.
// - Machine code is an ELF file. Version 7 of its ABI has the compute capability in the lowest byte of
//   the flags, and the CUDA of its assembler as the file's version. Version 8 has the capability one
//   byte higher, and the assembler in a note. ptxas 12.9 writes 8 for sm_100 and later, ptxas 13.0 for
//   all.
// - NVIDIA promises that a driver takes machine code of its own major version of CUDA and of older
//   ones. Drivers of CUDA 11 refuse what ptxas 12 has made, as invalid images. Devices whose code has
//   version 8 came with CUDA 12.8.
// - Fatbins hold these. rondo makes none, and none is known here.
// - Machine code runs on devices of its major version and of the same minor version or a higher one.
#include <elf.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "tests/fake_driver/state.h"

namespace rondo::test {
namespace {

constexpr int invalid_image = 200;
constexpr int no_binary_for_device = 209;
constexpr int unsupported_ptx_version = 222;
constexpr unsigned cuda_machine = 190;  // EM_CUDA

/// The number after `key`; -1: there is none.
int number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  int number = -1;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

/// The newest PTX of this driver; 77: 7.7.
int newest_ptx() {
  const int major = driver_version() / 1000;
  const int minor = driver_version() % 1000 / 10;
  if (major < 12) return 70 + minor;
  if (major > 12) return 90 + minor;
  return 80 + (minor < 6 ? minor : minor - 1);  // 12.5 and 12.6 have 8.5
}

Verdict judge_ptx(std::string_view text) {
  const std::size_t at = text.find(".version ");
  const std::size_t point = text.find('.', at + 1);
  const int device = number_after(text, ".target sm_");
  const int major = number_after(text, ".version ");
  const int minor = number_after(text.substr(point), ".");
  if (major < 0 || minor < 0 || device < 0) return {invalid_image};
  if (10 * major + minor > newest_ptx()) return {unsupported_ptx_version};
  if (device > capability()) return {no_binary_for_device};
  return {cuda::success, "PTX"};
}

/// The major version of CUDA whose assembler made it; -1: it does not say.
int assembler_of(const Elf64_Ehdr& header, std::string_view file) {
  return header.e_ident[EI_ABIVERSION] == 7 ? static_cast<int>(header.e_version) / 10
                                            : number_after(file, "compilation tools, release ");
}

Verdict judge_code(const std::byte* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_machine != cuda_machine) return {invalid_image};
  const unsigned abi = header.e_ident[EI_ABIVERSION];
  const std::string_view file(reinterpret_cast<const char*>(bytes), header.e_shoff);
  const int needed = abi == 8 ? 12080 : 11000;
  const int assembler = assembler_of(header, file);
  if ((abi != 7 && abi != 8) || assembler < 0 || driver_version() < needed ||
      assembler > driver_version() / 1000)
    return {invalid_image};
  const int code = static_cast<int>((abi == 7 ? header.e_flags : header.e_flags >> 8) & 0xff);
  if (code / 10 != capability() / 10 || code > capability()) return {no_binary_for_device};
  return {cuda::success,
          "machine code for " + std::to_string(code / 10) + "." + std::to_string(code % 10)};
}

}  // namespace

Verdict judge_image(const void* image) {
  const auto* const bytes = static_cast<const std::byte*>(image);
  if (std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) == 0) return judge_code(bytes);
  const std::string_view text(static_cast<const char*>(image));
  return text.find(".version ") == std::string_view::npos ? Verdict{invalid_image}
                                                          : judge_ptx(text);
}

}  // namespace rondo::test
