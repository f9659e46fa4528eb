// What a test expects of an error: its code and a part of its words.
#pragma once

#include <stdexcept>
#include <string>

#include "rondo/error.h"

namespace rondo::test {

/// The error that `body` throws; fails the test when it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("no error was thrown");
}

/// Throws where it is not so: a test's threads cannot use Catch's macros.
inline void expect(const Error& error, ErrorCode code, const std::string& part) {
  if (error.code() == code && std::string(error.what()).find(part) != std::string::npos) return;
  throw std::runtime_error("unexpected: " + std::string(name(error.code())) + ": " + error.what());
}

}  // namespace rondo::test
