// Reads what communicators write to the log.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/nccl/members.h"
#include "tests/support/setting.h"

namespace rondo::test {

/// What communicators that are made in its record() write to the log, at INFO. The log goes
/// elsewhere again with the next communicator that is made outside it.
class Log {
 public:
  Log() = default;
  ~Log() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  template <class Body>
  auto record(Body body) const {
    const Setting level("RONDO_DEBUG", "INFO");
    const Setting file("RONDO_DEBUG_FILE", path_.string());
    return body();
  }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void wait_for(const std::string& words) const {
    while (text().find(words) == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  /// Another path each time: a log that is open already is not opened again.
  static std::filesystem::path fresh_path() {
    static int number = 0;
    return std::filesystem::temp_directory_path() /
           ("rondo-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".log");
  }

  std::filesystem::path path_ = fresh_path();
};

/// What communicators write to the log that `body` makes and destroys.
template <class Body>
std::string logged_while(Body body) {
  const Log log;
  log.record(body);
  destroy(init_all(1));  // which logs as the environment says again
  return log.text();
}

}  // namespace rondo::test
