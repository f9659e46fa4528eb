#include "tests/control/processes.h"

#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/catch.h"

namespace rondo {

void Gate::open(int children) const {
  pipe_.write(std::string(static_cast<std::size_t>(children), '.'));
}

void Gate::pass() const {
  char token = 0;
  if (::read(pipe_.from.get(), &token, 1) != 1) throw std::runtime_error("the gate is gone");
}

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
