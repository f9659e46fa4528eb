#include "bench/common/command.h"

#include <CLI/CLI.hpp>

namespace rondo::bench {

void parse(CLI::App& app, int argc, const char* const* argv, Ending& ending,
           const std::function<void()>& check) {
  try {
    app.parse(argc, argv);
    if (check) check();
  } catch (const CLI::CallForHelp&) {
    ending = {.status = 0, .text = app.help()};
  } catch (const CLI::ParseError& error) {
    const std::string& name = app.get_name();
    ending = {.status = 2, .text = name + ": " + error.what() + "\nTry " + name + " --help\n"};
  }
}

int run_command(const std::string& program, const Ending& ending,
                const std::function<void()>& body) {
  if (ending.status) return ending.end();
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 1;
  }
}

}  // namespace rondo::bench
