// From a command line to what a program does with it: the same for every program of bench.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace rondo::bench {

/// What a program prints and ends with instead of running: status 0 for --help (to standard
/// output), 2 for a bad option (to standard error).
struct Ending {
  std::optional<int> status{};  ///< none: it runs
  std::string text{};

  /// Prints the text. Only where there is a status.
  int end() const {
    std::fputs(text.c_str(), *status == 0 ? stdout : stderr);
    return *status;
  }
};

/// What to do after reading a command line.
template <class Options>
struct Command : Ending {
  Options options{};
};

/// Reads the command line into whatever the options of `app` refer to, and notes the ending it
/// asks for. `check` looks at limits that involve several options; it throws CLI::ParseError.
void parse(CLI::App& app, int argc, const char* const* argv, Ending& ending,
           const std::function<void()>& check = {});

/// main() of a program whose failures are exceptions: a line on standard error, and status 1.
template <class Options>
int run_command(const char* program, const Command<Options>& command,
                void (*run)(const Options& options)) {
  if (command.status) return command.end();
  try {
    run(command.options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace rondo::bench
