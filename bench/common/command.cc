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

}  // namespace rondo::bench
