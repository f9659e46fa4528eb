#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/profile.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/explain/explain.h"
#include "tools/rondo/explain_options.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/data.h"
#include "tools/rondo/page/explain_page.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/page/svg.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/trace/explain_real.h"
#include "tools/rondo/trace/load.h"
#include "tools/rondo/trace/real.h"

namespace rondo::tool {
namespace {

/// With more ranks than this, the program says that it takes long.
constexpr int most_silent_ranks = 1000;
/// The steps of a ring all-reduce of 1580 ranks. Time and memory grow with the square of the ranks.
constexpr std::uint64_t most_steps = 10'000'000;

void refuse_endless(const Schedule& schedule) {
  if (rough_steps(schedule, most_steps) <= most_steps) return;
  reject(schedule.algorithm + " takes more than " + std::to_string(most_steps) + " steps with " +
             std::to_string(schedule.ranks) + " ranks, and explain runs through each of them",
         "fewer ranks, or `rondo simulate`, which computes costs only");
}

/// The exit status: 1 where the schedule is wrong.
int explain_one(const ExplainArguments& arguments) {
  const auto [schedule, topology, line_of] = explained_by(arguments);
  const std::vector<ShownHost> hosts = shown_hosts(topology);
  if (!arguments.svg.empty()) {
    const std::string svg = animation_svg(schedule, hosts);
    arguments.svg == "-" ? void(std::fputs(svg.c_str(), stdout))
                         : write_to_open(arguments.svg, svg);
    return 0;
  }
  refuse_endless(schedule);
  ExplainOptions options = options_of(arguments, schedule);
  options.hosts = hosts;
  options.line_of = line_of;
  if (schedule.ranks > most_silent_ranks)
    std::fprintf(stderr,
                 "rondo: running through every step of %d ranks can take minutes; `rondo simulate` "
                 "computes the costs sooner\n",
                 schedule.ranks);
  const Explanation explanation = explain(schedule, options);
  const CostFormulas cost = arguments.file.empty() ? formulas_of(schedule) : CostFormulas();
  std::fputs(render(explanation, cost, arguments.width).c_str(), stdout);
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

/// The costs of a page's clock, which has links and no processors. So beta is that of a rank that
/// sends and receives at once. std::nullopt without a profile.
std::optional<Costs> page_costs(const PageArguments& arguments, int ranks) {
  if (arguments.profile.empty()) return std::nullopt;
  const Profile profile = read_profile_here(arguments.profile);
  const LinkProfile& link = profile.link(arguments.transport, ranks);
  const double bytes = PageContent().bytes;
  const double crowd = static_cast<double>(link.ranks) / link.cores;
  return Costs{
      .alpha = link.alpha.median, .beta = link.beta(bytes), .gamma = link.combined(bytes) * crowd};
}

/// By which option the ranks and their hosts were given.
std::string ranks_option(const ExplainArguments& arguments) {
  if (!arguments.where.hosts.empty()) return "--hosts " + arguments.where.hosts;
  if (!arguments.where.topology.empty())
    return "--topology " + shell_word(arguments.where.topology);
  return "--ranks " + std::to_string(arguments.ranks);
}

void write_page_of(const ExplainArguments& arguments, const PageArguments& page) {
  const auto [schedule, topology, ignored] = explained_by(arguments);
  const auto costs = page_costs(page, schedule.ranks);
  write_explained_page({.schedule = schedule,
                        .own_text = !arguments.file.empty(),
                        .topology = topology,
                        .ranks = ranks_option(arguments),
                        .costs = costs},
                       page);
  if (costs)
    std::printf("the clock of the page, from %s: %s\n", page.profile.c_str(),
                costs_text(*costs).c_str());
  if (!shown_hosts(topology).empty())
    std::printf("the clock of the page: %s\n", costs_text(topology).c_str());
}

void add_what(CLI::App& command, ExplainArguments& arguments) {
  command.add_option("collective", arguments.collective, "e.g. all_reduce (see rondo list)");
  CLI::Option* algorithm = command.add_option("-a,--algorithm", arguments.algorithm,
                                              "e.g. ring; default: the first in rondo list");
  CLI::Option* ranks =
      command
          .add_option("-n,--ranks", arguments.ranks, "number of ranks; at most ten million steps")
          ->capture_default_str();
  add_topology_options(command, arguments.where, ranks);
  command.add_option("-r,--root", arguments.root, "root rank")->capture_default_str();
  command
      .add_option("-f,--file", arguments.file,
                  "explains a schedule's text form instead; - for standard input")
      ->excludes(algorithm);
  command.add_option("--width", arguments.width, "columns to use, at least 40")
      ->check(CLI::Range(40, 1000))
      ->capture_default_str();
}

void add_svg_option(CLI::App& command, ExplainArguments& arguments) {
  command.add_option(
      "--svg", arguments.svg,
      "writes an animated picture that plays by itself, for a README or a slide; - for standard\n"
      "output (up to 16 ranks)");
  exclude(command, {"--svg"}, {"--count", "--type", "--values", "--width", "--html", "--compare"});
}

void add_real_options(CLI::App& command, RealArguments& arguments) {
  command.add_option(
      "--from-trace", arguments.files,
      "explains a recorded call instead, with its times: the files of RONDO_TRACE=FILE, or FILE");
  exclude(command, {"--from-trace"},
          {"--algorithm", "--ranks", "--hosts", "--topology", "--root", "--file", "--count",
           "--type", "--values", "--svg", "--html", "--compare", "--profile"});
  command
      .add_option("--call", arguments.call,
                  "with --from-trace: the number of a call in `rondo trace`; default: the slowest")
      ->check(CLI::Range(1, 1000000000));
}

}  // namespace

void add_explain(CLI::App& program, int& status) {
  const auto arguments = std::make_shared<ExplainArguments>();
  const auto page = std::make_shared<PageArguments>();
  CLI::App* command = program.add_subcommand(
      "explain",
      "Shows a collective round by round: what each rank sends, which ranks' contributions each\n"
      "chunk holds, what it has cost so far, and the lower bound.\n"
      "Examples: rondo explain all_reduce --algorithm ring --ranks 4\n"
      "          rondo explain all_reduce -a ring -n 4 --count 10 --type float64\n"
      "          rondo explain all_reduce -a ring -n 2 --values '1,2;30,40'\n"
      "          rondo explain --from-trace run\n"
      "Exit status 1 if the schedule is wrong, 2 if so with --svg.");
  add_what(*command, *arguments);
  CLI::Option* count = command->add_option(
      "-c,--count", arguments->count,
      "elements of the vector, or of each block: shows which elements each chunk has, and bytes\n"
      "instead of N");
  command->add_option("-t,--type", arguments->type,
                      "element type for --count and --values; default: float32");
  CLI::Option* values =
      command
          ->add_option(
              "--values", arguments->values,
              "shows the numbers that each rank holds after each round, for up to 8 ranks;\n"
              "reductions add. '1,2;3,4' gives each rank with an input its numbers; without\n"
              "them, element i of rank r is r*10+i")
          ->expected(0, 1);
  add_page_options(*command, *page);
  exclude(*command, {"--hosts", "--topology"}, {"--profile"});  // these have costs of their own
  add_svg_option(*command, *arguments);
  const auto real = std::make_shared<RealArguments>();
  add_real_options(*command, *real);
  command->callback([arguments, page, real, count, values, command, &status] {
    refuse_empty(*command, {"--svg", "--html", "--compare", "--profile", "--transport", "--file"});
    if (!real->files.empty()) return explain_trace(*real, arguments->width);
    if (real->call > 0) reject("--call needs --from-trace", "--from-trace FILE...");
    arguments->has_count = count->count() > 0;
    arguments->has_values = values->count() > 0;
    arguments->given = ranks_given(*command, arguments->where, arguments->ranks, arguments->root);
    if (page->wanted())
      write_page_of(*arguments, *page);
    else
      status = explain_one(*arguments);
  });
}

}  // namespace rondo::tool
