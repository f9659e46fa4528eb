// The device kernels as bytes inside the library. CUDA's driver loads them as a module.
//
// Nothing of CUDA is needed to link or load the library. The driver is found at run time
// (core/cuda).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rondo {

/// Machine code (a "cubin") for devices of one compute capability. Devices of the same major version
/// and a higher minor one take it, too, where the driver knows what made it.
struct MachineCode {
  int capability = 0;  ///< 90: 9.0
  std::span<const std::byte> bytes{};
};

/// The PTX is for devices of this capability and all later ones.
inline constexpr int ptx_capability = 75;

/// Kernels in every form that there is.
struct DeviceImage {
  std::vector<MachineCode> codes{};
  const std::byte* ptx = nullptr;  ///< ends with a byte of 0; null: rondo was built without nvcc
};

/// One form of an image, for cuModuleLoadData().
struct ImageForm {
  const std::byte* data = nullptr;
  std::string words{};  ///< "machine code for 9.0" or "PTX"
};

/// The forms that a device of this compute capability (90: 9.0) may take, best first: its machine
/// code, and PTX, which the driver compiles. Empty where the image is.
std::vector<ImageForm> forms_for(const DeviceImage& image, int capability);

/// "9.0".
std::string words_of_capability(int capability);

/// The kernels that wait for no others (kernels/device/pieces.h).
DeviceImage kernel_image();
/// The kernels that wait for other ranks. They are separate, since few contexts load them.
DeviceImage resident_image();

}  // namespace rondo
