// What the GPU programs need to run, and their output: one JSON object on each line of standard output,
// for tests/gpu/run.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tests/fake_driver/fake_driver.h"

namespace rondo::gpu_test {

inline constexpr int no_device = 77;  ///< exit status of a program that could not run at all

/// A line under way: {"kind":"...", ...}. Names and texts need no escaping. The
/// destructor prints it.
class Line {
 public:
  explicit Line(std::string_view kind) { text("kind", kind); }
  ~Line() {
    std::printf("{%s}\n", fields_.c_str());
    std::fflush(stdout);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& text(std::string_view name, std::string_view value) {
    return add(name, '"' + std::string(value) + '"');
  }
  Line& number(std::string_view name, double value) {
    char digits[40];
    std::snprintf(digits, sizeof(digits), "%.10g", value);
    return add(name, digits);
  }

 private:
  Line& add(std::string_view name, const std::string& value) {
    if (!fields_.empty()) fields_ += ", ";
    fields_ += '"' + std::string(name) + "\": " + value;
    return *this;
  }
  std::string fields_{};
};

/// What the driver or its stand-in alone says; empty: nothing is in the way.
inline std::string driver_obstacle() {
  int devices = 0;
  const int status = cuInit(0);
  if (status != cuda::success) return "cuInit says " + std::to_string(status);
  const int counted = cuDeviceGetCount(&devices);
  if (counted == cuda::success && devices > 0) return {};
  return "the driver shows no device";
}

/// Runs `body`, which returns how many checks failed. `obstacle`: why it cannot run here, which is
/// said with status 77; empty: it can.
template <class Body>
int program(const std::string& obstacle, const Body& body) {
  try {
    if (!obstacle.empty()) {
      std::fprintf(stderr, "not run: %s\n", obstacle.c_str());
      return no_device;
    }
    const int wrong = body();
    Line("summary").number("wrong", wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace rondo::gpu_test
