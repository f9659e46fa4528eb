// The functions that tests call in the fake driver, for builds that use a real driver.
#include "tests/fake_driver/fake_driver.h"

extern "C" {
void fake_fail_next(const char* /*function*/, int /*status*/) {}
int fake_calls(const char* /*function*/) { return 0; }
int fake_blocks() { return 0; }
int fake_pinned_blocks() { return 0; }
int fake_descriptors() { return 0; }
void fake_memory_left(std::size_t /*bytes*/) {}
int fake_retained(int /*device*/) { return 0; }
void fake_set_link(int /*device*/, int /*peer*/, FakeLink /*link*/) {}
int fake_launches() { return -1; }
int fake_allocate_unshared(rondo::cuda::DevicePointer* /*pointer*/, std::size_t /*bytes*/) {
  return 801;
}
std::size_t fake_copied_bytes() { return 0; }
int fake_resident_launches() { return -1; }
int fake_window_launches() { return -1; }
int fake_in_windows() { return -1; }
int fake_launches_in_own_domain() { return -1; }
void fake_limit_queues(std::size_t /*entries*/) {}
void fake_share_queues(std::size_t /*queues_of_context*/) {}
std::size_t fake_longest_queue() { return 0; }
void fake_free_waits(bool /*waits*/) {}
void fake_renew_context(rondo::cuda::Context /*context*/) {}
void fake_break_context(rondo::cuda::Context /*context*/, int /*status*/) {}
int fake_races() { return 0; }
void fake_block_threads(unsigned /*threads*/) {}
void fake_lose_memory(int /*device*/) {}
}
