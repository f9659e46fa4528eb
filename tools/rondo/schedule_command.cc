#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "core/schedule/text.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/topology/options.h"

namespace rondo::tool {
namespace {

struct ScheduleInput {
  std::string collective{};
  std::string algorithm{};
  int ranks = 4;
  TopologyInput where{};
  int root = 0;
  std::string file{};
};

Schedule schedule_of(const ScheduleInput& input, const CLI::App& command) {
  if (input.collective.empty() == input.file.empty())
    reject("there is nothing to print, or too much",
           "either COLLECTIVE or --file FILE, e.g. rondo schedule all_reduce");
  if (!input.file.empty())
    return build_written(read_script(input.file),
                         ranks_given(command, input.where, input.ranks, input.root));
  return build_schedule(input.collective, input.algorithm, topology_of(input.where, input.ranks),
                        input.root);
}

}  // namespace

void add_schedule(CLI::App& program) {
  const auto arguments = std::make_shared<ScheduleInput>();
  CLI::App* command = program.add_subcommand(
      "schedule",
      "Prints the text form of a schedule: every step of every rank. Change it, then check it "
      "with\n"
      "`rondo verify --file` or see it with `rondo explain --file`.\n"
      "Example: rondo schedule broadcast --algorithm chain --ranks 3 --root 1");
  command->add_option("collective", arguments->collective, "e.g. all_reduce (see rondo list)");
  command->add_option("-a,--algorithm", arguments->algorithm,
                      "e.g. ring; default: the first in rondo list");
  CLI::Option* const ranks =
      command->add_option("-n,--ranks", arguments->ranks, "number of ranks")->capture_default_str();
  add_topology_options(*command, arguments->where, ranks);
  command->add_option("-r,--root", arguments->root, "root rank")->capture_default_str();
  command
      ->add_option("-f,--file", arguments->file,
                   "a schedule's text, written out for these ranks; - for standard input")
      ->excludes("--algorithm");
  command->callback([arguments, command] {
    write_text(schedule_of(*arguments, *command),
               [](const std::string& piece) { std::fputs(piece.c_str(), stdout); });
  });
}

}  // namespace rondo::tool
