// Runs a program to its end, as a shell does.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <regex>
#include <stdexcept>
#include <string>

namespace rondo::test {

struct Run {
  int status = -1;       ///< -1: a signal ended it
  std::string output{};  ///< standard error, too

  bool says(const std::string& words) const { return output.find(words) != std::string::npos; }
  /// The same where lines are folded: a path of another length moves the breaks.
  bool says_folded(const std::string& words) const {
    return std::regex_replace(output, std::regex("\\s+"), " ").find(words) != std::string::npos;
  }
};

inline Run run_command(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  Run run;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
    run.output.append(part.data(), size);
  const int status = ::pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

}  // namespace rondo::test
