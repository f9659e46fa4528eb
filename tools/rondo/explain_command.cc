#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "core/schedule/explain.h"
#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"

namespace rondo::tool {
namespace {

struct Arguments {
  std::string collective{};
  std::string algorithm{};
  std::string file{};
  int ranks = 4;
  int root = 0;
  std::size_t width = 80;
};

void explain_one(const Arguments& arguments) {
  if (arguments.collective.empty() == arguments.file.empty())
    throw Error(ErrorCode::invalid_argument, "explain what?",
                {.remedy = "either COLLECTIVE or --file FILE, e.g. rondo explain all_reduce"});
  const Schedule schedule = arguments.file.empty()
                                ? build_schedule(arguments.collective, arguments.algorithm,
                                                 arguments.ranks, arguments.root)
                                : read_schedule(arguments.file);
  const Algorithm* row = arguments.file.empty() ? row_of(schedule) : nullptr;
  CostFormulas cost;
  if (row != nullptr)
    cost = {row->cost.rounds, row->cost.hops, row->cost.sent, {}, row->cost.reduced};
  std::fputs(render(rondo::explain(schedule), cost, arguments.width).c_str(), stdout);
}

}  // namespace

void add_explain(CLI::App& program) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "explain",
      "Shows a collective round by round: what each rank sends, whose contributions each chunk\n"
      "holds, what it has cost so far, and the lower bound.\n"
      "Example: rondo explain all_reduce --algorithm ring --ranks 4");
  command->add_option("collective", arguments->collective, "e.g. all_reduce (see rondo list)");
  command->add_option("-a,--algorithm", arguments->algorithm,
                      "e.g. ring; by default the first that rondo list shows");
  command->add_option("-n,--ranks", arguments->ranks, "number of ranks")->capture_default_str();
  command->add_option("-r,--root", arguments->root, "root rank")->capture_default_str();
  command->add_option("-f,--file", arguments->file,
                      "a schedule's text form instead, - for standard input");
  command->add_option("--width", arguments->width, "columns to use")->capture_default_str();
  command->callback([arguments] { explain_one(*arguments); });
}

}  // namespace rondo::tool
