// Reading a command line, the same way for every program of bench.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace rondo::bench {

/// A message and an exit status for a program that does not run: 0 for --help (on standard output),
/// 2 for a bad option (on standard error).
struct Ending {
  std::optional<int> status{};  ///< no value: the program runs
  std::string text{};

  /// Prints the text. Only call it when there is a status.
  int end() const {
    std::fputs(text.c_str(), *status == 0 ? stdout : stderr);
    return *status;
  }
};

/// The result of reading a command line.
template <class Options>
struct Command : Ending {
  Options options{};
};

/// Reads the command line into the variables that the options of `app` refer to. When the program
/// must not run, it stores message and status in the command. `check` checks limits that involve
/// several options; it throws CLI::ParseError.
void parse(CLI::App& app, int argc, const char* const* argv, Ending& ending,
           const std::function<void()>& check = {});

/// main() for a program that throws: prints one line on standard error and returns 1.
int run_command(const std::string& program, const Ending& ending,
                const std::function<void()>& body);

}  // namespace rondo::bench
