#include "tests/control/processes.h"

#include <chrono>
#include <thread>

#include "tests/catch.h"

namespace rondo {

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("the text is: " << text);
  return text.find(part) != std::string::npos;
}

bool eventually(const std::function<bool()>& condition, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace rondo
