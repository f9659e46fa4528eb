#include "core/memory/windows.h"
#include "rondo/memory.h"

namespace rondo {

Memory allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  return {Windows::allocate(Windows::of_process(), bytes), bytes};
}

}  // namespace rondo
