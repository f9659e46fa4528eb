#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "core/schedule/explain.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/explain_options.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/data.h"
#include "tools/rondo/page/explain_page.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/step/terminal.h"
#include "tools/rondo/trace/explain_real.h"
#include "tools/rondo/trace/load.h"
#include "tools/rondo/trace/real.h"

namespace rondo::tool {
namespace {

/// More take so long that one wonders.
constexpr int most_silent_ranks = 1000;
/// A ring all-reduce of 1580 ranks: some 20 s and 0.4 GB, which grow with the square.
constexpr std::uint64_t most_steps = 10'000'000;

void refuse_endless(const Schedule& schedule) {
  if (rough_steps(schedule, most_steps) <= most_steps) return;
  reject(schedule.algorithm + " takes more than " + std::to_string(most_steps) + " steps with " +
             std::to_string(schedule.ranks) + " ranks, and explain goes through every one",
         "fewer ranks, which show the same, or `rondo simulate`, which says costs alone");
}

/// The exit status: 1 where the schedule is wrong.
int explain_one(const ExplainArguments& arguments) {
  const Schedule schedule = schedule_of(arguments);
  refuse_endless(schedule);
  const ExplainOptions options = options_of(arguments, schedule);
  if (schedule.ranks > most_silent_ranks)
    std::fprintf(stderr,
                 "rondo: goes through every step of %d ranks, which can take minutes; `rondo "
                 "simulate` says costs alone sooner\n",
                 schedule.ranks);
  const Explanation explanation = explain(schedule, options);
  if (arguments.step) {
    step::show(explanation);
  } else {
    const CostFormulas cost = arguments.file.empty() ? formulas_of(schedule) : CostFormulas();
    std::fputs(render(explanation, cost, arguments.width).c_str(), stdout);
  }
  return explanation.findings.empty() ? 0 : 1;
}

struct RealArguments {
  std::vector<std::string> files{};
  std::size_t call = 0;  ///< 0: the slowest
};

void explain_trace(const RealArguments& real, std::size_t width) {
  const Timeline timeline = load_timeline(real.files);
  const TracedCall& call = real.call > 0 ? timeline.call(real.call) : slowest_playable(timeline);
  std::fputs(explain_real(call, width).c_str(), stdout);
}

/// A page's clock has links and no processors: a byte takes what it takes where a rank sends and
/// receives at once. Nothing where there is no profile.
std::optional<Costs> page_costs(const PageArguments& arguments, int ranks) {
  if (arguments.profile.empty()) return std::nullopt;
  const Profile profile = read_profile(arguments.profile);
  const std::string foreign = foreign_words(profile);
  if (!foreign.empty()) std::fprintf(stderr, "rondo: %s\n", foreign.c_str());
  const LinkProfile& link = profile.link(arguments.transport, ranks);
  const double bytes = PageContent().bytes;
  const double crowd = static_cast<double>(link.ranks) / link.cores;
  return Costs{
      .alpha = link.alpha.median, .beta = link.beta(bytes), .gamma = link.combined(bytes) * crowd};
}

void write_page_of(const ExplainArguments& arguments, const PageArguments& page) {
  const Schedule schedule = schedule_of(arguments);
  const auto costs = page_costs(page, schedule.ranks);
  write_explained_page(schedule, !arguments.file.empty(), page, costs);
  if (costs)
    std::printf("its clock, from %s: %s\n", page.profile.c_str(), costs_text(*costs).c_str());
}

void add_what(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("collective", arguments.collective, "e.g. all_reduce (see rondo list)");
  CLI::Option* algorithm =
      command.add_option("-a,--algorithm", arguments.algorithm,
                         "e.g. ring; by default the first that rondo list shows");
  CLI::Option* ranks = command
                           .add_option("-n,--ranks", arguments.ranks,
                                       "number of ranks; refused beyond ten million steps")
                           ->capture_default_str();
  CLI::Option* root =
      command.add_option("-r,--root", arguments.root, "root rank")->capture_default_str();
  command
      .add_option("-f,--file", arguments.file,
                  "a schedule's text form instead, - for standard input; it says ranks and root")
      ->excludes(algorithm)
      ->excludes(ranks)
      ->excludes(root);
  command.add_option("--width", arguments.width, "columns to use, from 40")
      ->check(CLI::Range(40, 1000))
      ->capture_default_str();
}

void add_real_options(CLI::App& command, RealArguments& arguments) {
  CLI::Option* files = command.add_option(
      "--from-trace", arguments.files,
      "a real call instead, with times: the files that RONDO_TRACE=FILE left, or FILE");
  for (const char* other : {"--algorithm", "--ranks", "--root", "--file", "--count", "--type",
                            "--values", "--step", "--html", "--compare", "--profile"})
    files->excludes(command.get_option(other));
  command
      .add_option("--call", arguments.call,
                  "with --from-trace: which, as `rondo trace` numbers them; else the slowest")
      ->check(CLI::Range(1, 1000000000));
}

}  // namespace

void add_explain(CLI::App& program, int& status) {
  const auto arguments = std::make_shared<ExplainArguments>();
  const auto page = std::make_shared<PageArguments>();
  CLI::App* command = program.add_subcommand(
      "explain",
      "Shows a collective round by round: what each rank sends, whose contributions each chunk\n"
      "holds, what it has cost so far, and the lower bound.\n"
      "Examples: rondo explain all_reduce --algorithm ring --ranks 4\n"
      "          rondo explain all_reduce -a ring -n 4 --count 10 --type float64\n"
      "          rondo explain all_reduce -a ring -n 2 --values '1,2;30,40'\n"
      "          rondo explain --from-trace run\n"
      "Exit status 1 when the schedule is wrong.");
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
  const auto real = std::make_shared<RealArguments>();
  add_real_options(*command, *real);
  command->callback([arguments, page, real, count, values, command, &status] {
    refuse_empty(*command, {"--html", "--compare", "--profile", "--transport", "--file"});
    if (!real->files.empty()) return explain_trace(*real, arguments->width);
    if (real->call > 0) reject("--call is for traces", "--from-trace FILE...");
    arguments->has_count = count->count() > 0;
    arguments->has_values = values->count() > 0;
    if (page->wanted())
      write_page_of(*arguments, *page);
    else
      status = explain_one(*arguments);
  });
}

}  // namespace rondo::tool
