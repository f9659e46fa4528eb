#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "core/topology/measured_costs.h"
#include "rondo/error.h"
#include "rondo/rondo.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/measure.h"
#include "tools/rondo/calibrate/plot.h"
#include "tools/rondo/calibrate/report.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/page.h"

namespace rondo::tool {
namespace {

struct Arguments {
  std::vector<std::string> transports{};  ///< empty: all that the ranks can use
  std::string ranks{};                    ///< empty: 2, or as many as a launcher started
  std::vector<std::string> sizes{"1K", "8K", "64K", "256K", "1M", "4M", "16M"};
  std::vector<std::string> types{"all"};
  std::vector<std::string> ops{"sum"};
  std::vector<std::string> algorithms{"ring",        "circulant",     "two_shot",
                                      "double_tree", "binomial_tree", "default"};
  std::string output{};
  std::string plot{};
  int rounds = 21;
  bool check = false;
  double limit = 15;
};

std::vector<double> sizes_of(const Arguments& arguments) {
  std::vector<double> sizes;
  for (const std::string& text : arguments.sizes) {
    const double bytes = parse_bytes(text);
    if (bytes < 64 || bytes > double{1 << 30})
      reject("--sizes " + text + " is not between 64 bytes and 1 GiB", "such as 1K,64K,4M");
    if (!sizes.empty() && bytes <= sizes.back())
      reject("--sizes do not ascend at " + text, "smaller ones first, such as 1K,64K,4M");
    sizes.push_back(bytes);
  }
  return sizes;
}

void place_here(const Arguments& arguments, CalibrateOptions& options) {
  options.transports =
      arguments.transports.empty() ? std::vector<std::string>{"shm", "tcp"} : arguments.transports;
  if (arguments.ranks.empty()) return;
  options.ranks = parse_ranks(arguments.ranks);
  if (options.ranks.front() < 2 || options.ranks.back() > bench::most_members)
    reject("--ranks " + arguments.ranks, "from 2 to " + std::to_string(bench::most_members));
}

void place_on_hosts(const Arguments& arguments, int started, CalibrateOptions& options) {
  if (!arguments.ranks.empty())
    reject("--ranks " + arguments.ranks + ", but a launcher has started " + std::to_string(started),
           "leave out --ranks, or start it without the launcher");
  for (const std::string& transport : arguments.transports)
    if (transport == "shm") reject("hosts share no memory (--transport shm)", "--transport tcp");
  options.transports = {"tcp"};
  options.ranks = {started};
}

/// `started`: the number of processes that a launcher started; 1: no launcher.
CalibrateOptions options_of(const Arguments& arguments, int started) {
  CalibrateOptions options{.sizes = sizes_of(arguments), .rounds = arguments.rounds};
  started > 1 ? place_on_hosts(arguments, started, options) : place_here(arguments, options);
  for (const std::string& type : arguments.types) {
    if (type != "all") {
      options.types.push_back(type_by_name(type));
      continue;
    }
    for (const DataTypeInfo& row : data_types) options.types.push_back(row.type);
  }
  options.ops.clear();
  for (const std::string& op : arguments.ops) {
    options.ops.push_back(operator_by_name(op));
    const bool applies = std::ranges::any_of(
        options.types, [&](DataType type) { return applies_to(options.ops.back(), type); });
    if (!applies) check_applies(options.ops.back(), options.types.front());
  }
  if (!arguments.check) return options;
  for (const std::string& algorithm : arguments.algorithms) {
    if (algorithm != "default") algorithms_by_name(Collective::all_reduce, algorithm);
    options.checked.push_back(algorithm);
  }
  return options;
}

std::string now() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

void show(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // before the next ranks are forked
}

std::string headline(const Profile& profile, int rounds) {
  return profile.machine.cpu + ", " + std::to_string(profile.machine.cores) + " cores, Linux " +
         profile.machine.kernel + "; rondo " + profile.version + ", " + profile.date +
         "; medians of " + std::to_string(rounds) + " rounds\n";
}

/// Collective. Returns the verdicts on checked algorithms, and prints on the first rank.
std::vector<CheckVerdict> measure_links(const CalibrateOptions& options, Ranks& team,
                                        Profile& profile) {
  std::vector<CheckVerdict> verdicts;
  for (const int ranks : options.ranks) {
    for (const std::string& transport : options.transports) {
      const LinkMeasurement found = measure_link(options, team, transport, ranks);
      profile.links.push_back(found.link);
      if (!team.first()) continue;
      const std::vector<CheckRow> rows = check_rows(found);
      show(link_text(found.link) + check_text(rows));
      for (const CheckVerdict& verdict : verdicts_of(rows)) verdicts.push_back(verdict);
    }
  }
  return verdicts;
}

void write_files(const Arguments& arguments, const Profile& profile) {
  if (!arguments.output.empty()) write_profile(profile, arguments.output);
  if (!arguments.plot.empty()) write_page(arguments.plot, plot_svg(profile));
}

/// Empty where only sockets of one machine were measured.
std::string link_costs_text(const Profile& profile) {
  const std::string costs = to_text(profile.costs_of_links());
  return costs.empty()
             ? costs
             : "\nFor the choice of algorithms where hosts have several ranks: RONDO_LINK_COSTS=" +
                   costs + "\n";
}

int calibrate(const Arguments& arguments) {
  const int started = launched();
  const CalibrateOptions options = options_of(arguments, started);
  const std::unique_ptr<Ranks> team = started > 1 ? launched_ranks() : forked_ranks();
  if (team->first()) {
    require_folder_of("--output", arguments.output);
    require_folder_of("--plot", arguments.plot);
  }
  Profile profile{.machine = this_machine(), .date = now(), .version = rondo::version()};
  if (team->first()) show(headline(profile, options.rounds));
  const std::vector<CheckVerdict> verdicts = measure_links(options, *team, profile);
  profile.gammas = measure_reductions(options, *team, options.ranks.back());
  if (!team->first()) return 0;
  show(gammas_text(profile.gammas));
  show(link_costs_text(profile));
  write_files(arguments, profile);
  if (verdicts.empty()) return 0;
  show(verdicts_text(verdicts, arguments.limit));
  const bool within = std::all_of(verdicts.begin(), verdicts.end(), [&](const CheckVerdict& one) {
    return 100 * one.off <= arguments.limit;
  });
  return within ? 0 : 1;
}

void add_options(CLI::App& command, Arguments& arguments) {
  command
      .add_option("-t,--transport", arguments.transports,
                  "transports to measure (default: shm,tcp; between hosts: tcp)")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp"}));
  command.add_option("-n,--ranks", arguments.ranks,
                     "numbers of ranks on this host, e.g. 2,4 (default 2)");
  command.add_option("-s,--sizes", arguments.sizes, "bytes of messages and vectors, ascending")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--types", arguments.types, "element types for gamma, e.g. float32,int8; or all")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--ops", arguments.ops, "operators for gamma, e.g. sum,max")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--rounds", arguments.rounds, "samples of each measurement")
      ->check(CLI::Range(3, 1001))
      ->capture_default_str();
  command.add_option(
      "-o,--output", arguments.output,
      "writes the profile: --profile of topology, simulate, why, explain --html and rondo-train");
  command.add_option("--plot", arguments.plot, "writes an SVG of samples and fits");
  command.add_flag(
      "--check", arguments.check,
      "also times all_reduces in the same rounds and compares them with their predictions;\n"
      "exit status 1 if a median is off by more than --limit");
  command
      .add_option("--algorithms", arguments.algorithms,
                  "for --check; `default` is what a program gets that forces nothing")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--limit", arguments.limit, "for --check, in per cent")
      ->check([](const std::string& text) {
        return cost_obstacle(text).empty() ? std::string()
                                           : "'" + text + "' is not a number of per cent";
      })
      ->capture_default_str();
}

}  // namespace

void add_calibrate(CLI::App& program, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "calibrate",
      "Measures what messages, shared memory and reductions cost on this machine: alpha, seconds\n"
      "a byte at each size, and gamma of every type, as medians with quartiles. It starts its own\n"
      "ranks and binds each to a core. It takes half a minute; nothing else should run meanwhile.\n"
      "Under a launcher with one rank on each of several hosts it measures the network between\n"
      "them. It prints a value of RONDO_LINK_COSTS for jobs of several hosts.\n"
      "Example: rondo calibrate --ranks 2,4 --output profile.json --plot profile.svg --check\n"
      "         rondorun --hosts a:1,b:1 rondo calibrate --output /tmp/between.json");
  add_options(*command, *arguments);
  command->callback([arguments, command, &status] {
    refuse_empty(*command, {"--output", "--plot"});
    status = calibrate(*arguments);
  });
}

}  // namespace rondo::tool
