#include "kernels/cuda/image.h"

namespace rondo {

std::string words_of_capability(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::vector<ImageForm> forms_for(const DeviceImage& image, int capability) {
  const MachineCode* best = nullptr;
  for (const MachineCode& code : image.codes) {
    const bool fits =
        code.capability / 10 == capability / 10 && code.capability % 10 <= capability % 10;
    if (fits && (best == nullptr || code.capability > best->capability)) best = &code;
  }
  std::vector<ImageForm> forms;
  if (best != nullptr)
    forms.push_back(
        {best->bytes.data(), "machine code for " + words_of_capability(best->capability)});
  if (image.ptx != nullptr) forms.push_back({image.ptx, "PTX"});
  return forms;
}

}  // namespace rondo
