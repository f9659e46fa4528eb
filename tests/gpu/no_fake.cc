// What tests ask of the fake driver, where there is a real one.
#include "tests/fake_driver/fake_driver.h"

extern "C" {
void fake_fail_next(const char* /*function*/, int /*status*/) {}
int fake_violations() { return 0; }
int fake_calls(const char* /*function*/) { return 0; }
int fake_blocks() { return 0; }
int fake_launches() { return -1; }
void fake_limit_queues(std::size_t /*entries*/) {}
std::size_t fake_longest_queue() { return 0; }
void fake_break_context(rondo::cuda::Context /*context*/) {}
}
