// rondo: look at collectives without running them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tools/rondo/commands.h"

int main(int argc, char** argv) {
  CLI::App program{
      "Looks at collective algorithms without running them: proves them right, shows what they "
      "do,\n"
      "predicts their time. `rondo COMMAND --help` tells more."};
  program.name("rondo");
  program.require_subcommand(1);
  int status = 0;
  rondo::tool::add_verify(program, status);
  rondo::tool::add_explain(program);
  rondo::tool::add_simulate(program);
  rondo::tool::add_schedule(program);
  rondo::tool::add_list(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return status;
}
