// The probe answers on every machine: with a sentence, and never with a crash.
#include "kernels/cuda/probe.h"
#include "tests/catch.h"

TEST_CASE("the CUDA probe says what it found", "[cuda]") {
  const rondo::CudaProbe probe = rondo::probe_cuda();
  INFO(probe.reason);
  CHECK(!probe.reason.empty());
  CHECK(probe.usable == (probe.device_count > 0));
  CHECK(probe.device_count >= 0);
  const rondo::CudaProbe again = rondo::probe_cuda();
  CHECK(again.reason == probe.reason);
  CHECK(again.device_count == probe.device_count);
}
