// Environment variables that a test sets.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace rondo::test {

/// A variable of the environment, for communicators that are made while it lives. No thread may
/// read the environment meanwhile.
class Setting {
 public:
  Setting(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Setting() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_{};
};

}  // namespace rondo::test
