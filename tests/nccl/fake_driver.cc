// A CUDA driver that consists of what rondo asks one: whether memory is a device's, and to finish a
// stream. Loaded by its test, which then says what memory and streams there are.
#include "tests/nccl/fake_driver.h"

#include <cstdint>

namespace {

// Written by the test before calls that read it.
FakeDriver state;

}  // namespace

extern "C" {

FakeDriver* fake_driver() { return &state; }

int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer) {
  constexpr int memory_type = 2;
  constexpr int invalid_value = 1;
  if (attribute != memory_type) return invalid_value;
  const auto begin = reinterpret_cast<std::uintptr_t>(state.device_begin);
  if (pointer < begin || pointer >= begin + state.device_bytes) return invalid_value;
  *static_cast<unsigned*>(data) = 2;
  return 0;
}

int cuStreamSynchronize(void* stream) {
  state.last_stream = stream;
  return state.stream_status;
}
}
