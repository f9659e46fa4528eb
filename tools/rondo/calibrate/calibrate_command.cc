#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include "rondo/error.h"
#include "rondo/rondo.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/calibrate/measure.h"
#include "tools/rondo/calibrate/plot.h"
#include "tools/rondo/calibrate/report.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"

namespace rondo::tool {
namespace {

constexpr int most_ranks = bench::Member::Board::most_members;

struct Arguments {
  std::vector<std::string> transports{"shm", "tcp"};
  std::string ranks = "2";
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

[[noreturn]] void reject(const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what, {.remedy = remedy});
}

std::vector<double> sizes_of(const Arguments& arguments) {
  std::vector<double> sizes;
  for (const std::string& text : arguments.sizes) {
    const double bytes = parse_bytes(text);
    if (bytes < 64 || bytes > double{1 << 30})
      reject("--sizes " + text + " is not between 64 bytes and 1 GiB", "such as 1K,64K,4M");
    if (!sizes.empty() && bytes <= sizes.back())
      reject("--sizes do not grow at " + text, "smaller ones first, such as 1K,64K,4M");
    sizes.push_back(bytes);
  }
  return sizes;
}

CalibrateOptions options_of(const Arguments& arguments) {
  CalibrateOptions options{.transports = arguments.transports,
                           .ranks = parse_ranks(arguments.ranks),
                           .sizes = sizes_of(arguments),
                           .rounds = arguments.rounds};
  if (options.ranks.front() < 2 || options.ranks.back() > most_ranks)
    reject("--ranks " + arguments.ranks, "from 2 to " + std::to_string(most_ranks));
  for (const std::string& type : arguments.types) {
    if (type != "all") {
      options.types.push_back(type_by_name(type));
      continue;
    }
    for (const DataTypeInfo& row : data_types) options.types.push_back(row.type);
  }
  options.ops.clear();
  for (const std::string& op : arguments.ops) options.ops.push_back(operator_by_name(op));
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

void write_text(const std::string& text, const std::string& path) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorCode::system, "cannot write '" + path + "'",
                {.remedy = "a path in a folder that is there and may be written"});
}

/// What cannot be written is said before the minute of measuring, not behind it.
void require_folder_of(const char* option, const std::string& path) {
  if (path.empty()) return;
  const auto folder = std::filesystem::absolute(path).parent_path();
  const bool writable =
      ::access(folder.c_str(), W_OK | X_OK) == 0 && !std::filesystem::is_directory(path);
  if (!writable)
    reject("cannot write '" + path + "' (" + option + ")",
           "a path in a folder that is there and may be written");
}

void show(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // before the next ranks are forked
}

/// Ranks that a launcher has started would each start a team of their own, and time the others.
void refuse_launchers() {
  for (const char* name : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const ranks = std::getenv(name);
    if (ranks == nullptr || std::atoi(ranks) < 2) continue;
    reject("calibrate was started " + std::string(ranks) + " times by a launcher (" + name +
               "), but starts ranks of its own, on this host",
           "`rondo calibrate --ranks " + std::string(ranks) + "` without the launcher");
  }
}

int calibrate(const Arguments& arguments) {
  refuse_launchers();
  const CalibrateOptions options = options_of(arguments);
  Profile profile{.machine = this_machine(), .date = now(), .version = rondo::version()};
  show(profile.machine.cpu + ", " + std::to_string(profile.machine.cores) + " cores, Linux " +
       profile.machine.kernel + "; rondo " + profile.version + ", " + profile.date +
       "; medians of " + std::to_string(options.rounds) + " rounds\n");
  std::vector<CheckVerdict> verdicts;
  for (const int ranks : options.ranks) {
    for (const std::string& transport : options.transports) {
      const LinkMeasurement found = measure_link(options, transport, ranks);
      profile.links.push_back(found.link);
      const std::vector<CheckRow> rows = check_rows(found);
      show(link_text(found.link) + check_text(rows));
      for (const CheckVerdict& verdict : verdicts_of(rows)) verdicts.push_back(verdict);
    }
  }
  profile.gammas = measure_reductions(options, options.ranks.back());
  show(gammas_text(profile.gammas));
  if (!arguments.output.empty()) write_profile(profile, arguments.output);
  if (!arguments.plot.empty()) write_text(plot_svg(profile), arguments.plot);
  if (verdicts.empty()) return 0;
  show(verdicts_text(verdicts, arguments.limit));
  const bool within = std::all_of(verdicts.begin(), verdicts.end(), [&](const CheckVerdict& one) {
    return 100 * one.off <= arguments.limit;
  });
  return within ? 0 : 1;
}

void add_options(CLI::App& command, Arguments& arguments) {
  command.add_option("-t,--transport", arguments.transports, "which ones, e.g. shm,tcp")
      ->delimiter(',')
      ->check(CLI::IsMember({"shm", "tcp"}))
      ->capture_default_str();
  command.add_option("-n,--ranks", arguments.ranks, "numbers of ranks, e.g. 2 or 2,4")
      ->capture_default_str();
  command.add_option("-s,--sizes", arguments.sizes, "bytes of messages and vectors, growing")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--types", arguments.types, "whose gamma, e.g. float32,int8; or all")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--ops", arguments.ops, "whose gamma, e.g. sum,max")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--rounds", arguments.rounds, "samples of each, in turn")
      ->check(CLI::Range(3, 1001))
      ->capture_default_str();
  command.add_option(
      "-o,--output", arguments.output,
      "write the profile, which simulate, why, explain --html and rondo-train take as\n"
      "--profile");
  command.add_option("--plot", arguments.plot, "write an SVG of samples and fits");
  command.add_flag(
      "--check", arguments.check,
      "also time all_reduces in the same rounds, and hold each round's against what its\n"
      "constants predict; exit status 1 where a median is off by more than --limit");
  command
      .add_option("--algorithms", arguments.algorithms,
                  "of --check; default is what a program gets that forces nothing")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--limit", arguments.limit, "of --check, in per cent")
      ->check([](const std::string& text) {
        return cost_obstacle(text).empty() ? std::string() : "'" + text + "' is no per cent";
      })
      ->capture_default_str();
}

}  // namespace

void add_calibrate(CLI::App& program, int& status) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "calibrate",
      "Measures what messages, shared memory and reductions cost on this machine, with ranks of\n"
      "its own, each bound to a core: alpha, seconds a byte at each size, gamma of every type;\n"
      "medians with quartiles. Takes half a minute; nothing else should run meanwhile. Of one "
      "host:\n"
      "for what links between hosts carry, bench/formula/run in the sources.\n"
      "Example: rondo calibrate --ranks 2,4 --output profile.json --plot profile.svg --check");
  add_options(*command, *arguments);
  command->callback([arguments, command, &status] {
    refuse_empty(*command, {"--output", "--plot"});
    require_folder_of("--output", arguments->output);
    require_folder_of("--plot", arguments->plot);
    status = calibrate(*arguments);
  });
}

}  // namespace rondo::tool
