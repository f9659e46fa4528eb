#include "core/cuda/dmabuf.h"

namespace rondo::cuda {

std::string why_no_dmabuf(int device) {
  int has = 0;
  const int status = driver().device_get_attribute(&has, attribute_dmabuf, device);
  if (status == success && has != 0) return {};
  return "device " + std::to_string(device) +
         " has no dma-bufs, which need the open kernel modules of its driver";
}

UniqueFd share_as_dmabuf(const Range& range) {
  int file = -1;
  check(driver().mem_get_handle_for_address_range(&file, range.begin, range.bytes,
                                                  dmabuf_descriptor, 0),
        "cuMemGetHandleForAddressRange", "set RONDO_NET_GDR_LEVEL=LOC");
  return UniqueFd(file);
}

}  // namespace rondo::cuda
