// Which drivers and devices load the images of kernels, and in which form. The stand-in refuses what
// a driver of that version would (tests/fake_driver/images.cc).
#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/cuda/kernels.h"
#include "core/cuda/modules.h"
#include "tests/catch.h"
#include "tests/nccl/device.h"

namespace rondo::test {
namespace {

/// A machine of which one driver and one kind of device are known.
struct Machine {
  const char* driver;
  const char* capability;
};

/// The form of the image that the driver takes.
template <class Load>
std::string form_on(const Machine& machine, const Load& load) {
  const Setting driver("FAKE_DRIVER_CUDA", machine.driver);
  const Setting capability("FAKE_CAPABILITY", machine.capability);
  cuCtxSetCurrent(device_context(0));
  load();
  return fake_loaded_form();
}

std::string form_on(const Machine& machine, const DeviceImage& image) {
  return form_on(machine, [&] { cuda::load_module(image, "nothing goes on"); });
}

/// Machine code: a header as ptxas of CUDA 12.9 writes it, or that of 13.0.
std::vector<std::byte> code(unsigned char abi, unsigned version, unsigned flags,
                            std::string_view note) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 190;
  header.e_shoff = sizeof header + note.size();
  header.e_ident[EI_ABIVERSION] = abi;
  header.e_version = version;
  header.e_flags = flags;
  std::vector<std::byte> bytes(header.e_shoff);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, note.data(), note.size());
  return bytes;
}
std::vector<std::byte> code_of_12(unsigned capability) {
  return code(7, 129, 0x4b0500U | capability, "");
}
std::vector<std::byte> code_of_13(unsigned capability) {
  return code(8, 1, 0x6000004U | capability << 8, "Cuda compilation tools, release 13.0, V13.0.88");
}

const std::byte* ptx(const char* text) { return reinterpret_cast<const std::byte*>(text); }
const std::byte* plain_ptx() { return ptx("// comment\n.version 7.7\n.target sm_75\n"); }

TEST_CASE("the library's own images load on every driver since 11.7 and every device since 7.5") {
  if (kernel_image().ptx == nullptr) return;  // built without nvcc
  for (const char* const driver : {"11.7", "11.8", "12.0", "12.4", "12.8", "13.0", "13.2"}) {
    for (const char* const capability : {"7.5", "8.0", "8.6", "9.0", "10.0", "12.1", "13.0"}) {
      INFO("driver " << driver << ", device " << capability);
      const Machine machine{driver, capability};
      CHECK_FALSE(form_on(machine, [] { const cuda::Kernels own(kernel_image()); }).empty());
      CHECK_FALSE(form_on(machine, [] { const cuda::ResidentKernels own; }).empty());
    }
  }
}

TEST_CASE("a device takes the machine code of its major version, and the newest that it runs") {
  const auto turing = code_of_12(75);
  const auto ampere = code_of_12(80);
  const auto later_ampere = code_of_12(87);
  const auto hopper = code_of_12(90);
  const DeviceImage image{{{75, turing}, {80, ampere}, {87, later_ampere}, {90, hopper}},
                          plain_ptx()};
  CHECK(form_on({"12.4", "7.5"}, image) == "machine code for 7.5");
  CHECK(form_on({"12.4", "8.6"}, image) == "machine code for 8.0");
  CHECK(form_on({"12.4", "8.9"}, image) == "machine code for 8.7");
  CHECK(form_on({"12.4", "9.0"}, image) == "machine code for 9.0");
  CHECK(form_on({"13.0", "9.0"}, image) == "machine code for 9.0");
  CHECK(form_on({"13.0", "11.0"}, image) == "PTX");
}

TEST_CASE("kernels that wait are launched in a domain of their own where devices have several") {
  if (resident_image().ptx == nullptr) return;  // built without nvcc
  const auto launched_there = [](const Machine& machine) {
    const int before = fake_launches_in_own_domain();
    form_on(machine, [] {
      const cuda::ResidentKernels own;
      // Refused, as its arenas are not on a device: the stand-in looks at the domain first.
      std::byte* elsewhere = nullptr;
      CHECK_THROWS_AS(own.launch(device::SmallCall{.arenas = &elsewhere, .stripes = 1}, nullptr),
                      cuda::CudaError);
    });
    return fake_launches_in_own_domain() - before;
  };
  CHECK(launched_there({"11.8", "9.0"}) == 0);
  CHECK(launched_there({"13.0", "8.6"}) == 0);
  CHECK(launched_there({"12.0", "9.0"}) == 1);
}

TEST_CASE("a driver that refuses the machine code gets the PTX") {
  const auto old_code = code_of_12(90);
  const auto new_code = code_of_13(90);
  CHECK(form_on({"11.8", "9.0"}, {{{90, old_code}}, plain_ptx()}) == "PTX");
  CHECK(form_on({"12.9", "9.0"}, {{{90, new_code}}, plain_ptx()}) == "PTX");
  CHECK(form_on({"13.0", "9.0"}, {{{90, new_code}}, plain_ptx()}) == "machine code for 9.0");
}

TEST_CASE("what a driver says to every form is in the error, with what to do") {
  const auto code = code_of_12(90);
  const DeviceImage image{{{90, code}}, plain_ptx()};
  CHECK_THROWS_WITH(
      form_on({"11.6", "9.0"}, image),
      Catch::Contains("this CUDA driver (of CUDA 11.6) takes no device kernels of this rondo for a "
                      "GPU of compute capability 9.0 (machine code for 9.0: CUDA error 200") &&
          Catch::Contains("PTX: CUDA error 222") &&
          Catch::Contains("Try: a driver of CUDA 11.7 or newer"));
  CHECK_THROWS_WITH(form_on({"12.4", "7.0"}, image),
                    Catch::Contains("Try: a GPU of compute capability 7.5 or newer"));
  fake_fail_next("cuModuleLoadData", 221);
  CHECK_THROWS_WITH(form_on({"12.4", "8.0"}, image),
                    Catch::Contains("libnvidia-ptxjitcompiler.so.1") &&
                        Catch::Contains("RONDO_CUDA_ARCHITECTURES=80"));
  CHECK_THROWS_WITH(form_on({"12.4", "9.0"}, DeviceImage{}),
                    Catch::Contains("no device kernels") && Catch::Contains("nvcc"));
}

TEST_CASE("the stand-in refuses what drivers refuse") {
  const auto status_of = [](const char* driver, const std::byte* image) {
    int status = 0;
    const Setting version("FAKE_DRIVER_CUDA", driver);
    cuda::Module module = nullptr;
    status = cuModuleLoadData(&module, image);
    return status;
  };
  form_on({"13.0", "9.0"}, DeviceImage{{}, plain_ptx()});  // a context is current from here on
  CHECK(status_of("13.0", ptx("any bytes")) == 200);
  CHECK(status_of("12.9", ptx(".version 9.0\n.target sm_75\n")) == 222);
  CHECK(status_of("12.9", ptx(".version 8.8\n.target sm_75\n")) == 0);
  CHECK(status_of("12.4", ptx(".version 8.5\n.target sm_75\n")) == 222);
  CHECK(status_of("12.4", ptx(".version 7.7\n.target sm_120\n")) == 209);
  CHECK(status_of("12.4", code_of_12(80).data()) == 209);
  CHECK(status_of("12.9", code_of_13(90).data()) == 200);
}

}  // namespace
}  // namespace rondo::test
