#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "core/schedule/explain.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/explain_options.h"
#include "tools/rondo/page/explain_page.h"
#include "tools/rondo/step/terminal.h"

namespace rondo::tool {
namespace {

void explain_one(const ExplainArguments& arguments) {
  const Schedule schedule = schedule_of(arguments);
  const Explanation explanation = explain(schedule, options_of(arguments, schedule));
  if (arguments.step) return step::show(explanation);
  const CostFormulas cost = arguments.file.empty() ? formulas_of(schedule) : CostFormulas();
  std::fputs(render(explanation, cost, arguments.width).c_str(), stdout);
}

void add_what(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("collective", arguments.collective, "e.g. all_reduce (see rondo list)");
  command.add_option("-a,--algorithm", arguments.algorithm,
                     "e.g. ring; by default the first that rondo list shows");
  command.add_option("-n,--ranks", arguments.ranks, "number of ranks")->capture_default_str();
  command.add_option("-r,--root", arguments.root, "root rank")->capture_default_str();
  command.add_option("-f,--file", arguments.file,
                     "a schedule's text form instead, - for standard input");
  command.add_option("--width", arguments.width, "columns to use, from 40")
      ->check(CLI::Range(40, 1000))
      ->capture_default_str();
}

}  // namespace

void add_explain(CLI::App& program) {
  const auto arguments = std::make_shared<ExplainArguments>();
  const auto page = std::make_shared<PageArguments>();
  CLI::App* command = program.add_subcommand(
      "explain",
      "Shows a collective round by round: what each rank sends, whose contributions each chunk\n"
      "holds, what it has cost so far, and the lower bound.\n"
      "Examples: rondo explain all_reduce --algorithm ring --ranks 4\n"
      "          rondo explain all_reduce -a ring -n 4 --count 10 --type float64\n"
      "          rondo explain all_reduce -a ring -n 2 --values '1,2;30,40'");
  add_what(*command, *arguments);
  command->add_flag("-s,--step", arguments->step,
                    "goes through the rounds in this terminal, forward and back; ? shows the keys");
  CLI::Option* count = command->add_option(
      "-c,--count", arguments->count,
      "elements, as the call counts them (of the vector, or of each block): the chunks' real\n"
      "ranges, and bytes instead of N");
  command->add_option("-t,--type", arguments->type,
                      "element type of --count and --values, by default float32");
  CLI::Option* values =
      command
          ->add_option(
              "--values", arguments->values,
              "carries numbers through and shows what each rank holds after each round, up\n"
              "to 8 ranks; reductions add up. '1,2;3,4': by rank that has an input; without\n"
              "them element i of rank r is r*10+i")
          ->expected(0, 1);
  add_page_options(*command, *page);
  command->callback([arguments, page, count, values] {
    arguments->has_count = count->count() > 0;
    arguments->has_values = values->count() > 0;
    if (page->wanted())
      write_explained_page(schedule_of(*arguments), !arguments->file.empty(), *page);
    else
      explain_one(*arguments);
  });
}

}  // namespace rondo::tool
