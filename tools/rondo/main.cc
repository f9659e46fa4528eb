// rondo: explains, verifies and predicts collectives, and shows recorded ones.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "tools/rondo/commands.h"

namespace {

/// "rondo sing" is a misspelt command rather than a missing one.
int command_missing(const CLI::App& program, int argc, char** argv) {
  std::string known;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    known += (known.empty() ? "" : ", ") + command->get_name();
  if (argc > 1)
    std::fprintf(stderr, "rondo: unknown command '%s'. Try: one of %s\n", argv[1], known.c_str());
  else
    std::fprintf(stderr, "rondo: a command is required. Try: one of %s\n", known.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{
      "Shows how collectives work: explains, verifies and simulates schedules, and finds new "
      "ones.\n"
      "Says how a call would go on this machine, measures links, shows where the time of a "
      "recorded\n"
      "run went, and shows hosts, ports, RDMA devices and GPUs.\n"
      "`rondo COMMAND --help` tells more."};
  program.name("rondo");
  program.require_subcommand(1);
  int status = 0;
  rondo::tool::add_verify(program, status);
  rondo::tool::add_explain(program, status);
  rondo::tool::add_learn(program);
  rondo::tool::add_simulate(program);
  rondo::tool::add_schedule(program);
  rondo::tool::add_synthesize(program);
  rondo::tool::add_list(program);
  rondo::tool::add_why(program);
  rondo::tool::add_trace(program);
  rondo::tool::add_rdma(program);
  rondo::tool::add_gpus(program);
  rondo::tool::add_topology(program);
  rondo::tool::add_calibrate(program, status);
  try {
    program.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    if (program.get_subcommands().empty()) return command_missing(program, argc, argv);
    return program.exit(error), 2;
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "rondo: cannot write all to standard output. Try: a disk with more room\n");
  return 2;
}
