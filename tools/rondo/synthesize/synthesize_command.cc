// rondo synthesize: looks for a schedule that suits a cluster, and writes it as a text that runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>

#include "bench/common/progress.h"
#include "core/schedule/script.h"
#include "core/schedule/verify.h"
#include "rondo/error.h"
#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/predict.h"
#include "tools/rondo/synthesize/bound.h"
#include "tools/rondo/synthesize/search.h"
#include "tools/rondo/synthesize/text.h"

namespace rondo::tool {
namespace {

constexpr int most_synthesized_ranks = 64;
constexpr int most_with_all_roots = 16;  ///< a search and a section of the text for each
constexpr double smallest_size = 8;
constexpr double size_step = 4;
constexpr double largest_size = 1 << 28;        ///< what is faster there stays so
constexpr std::size_t most_messages = 1 << 14;  ///< of all roots: the text stays short enough
constexpr std::size_t most_text = std::size_t{1} << 20;  ///< that a job takes

struct SynthesizeInput {
  std::string collective{};
  TopologyInput where{};
  std::string bytes = "16M";
  int root = -1;
  std::string name = "synthesized";
  std::string output{};
};

struct Task {
  Collective collective{};
  Topology topology{};
  Network network;
  double bytes = 0;
  std::vector<int> roots{};
};

Task task_of(const SynthesizeInput& input) {
  const Collective collective = collective_by_name(input.collective);
  const std::optional<Topology> topology = topology_of(input.where);
  if (!topology) reject("there are no hosts", "--hosts 3+5, or --topology FILE");
  if (topology->ranks < 2 || topology->ranks > most_synthesized_ranks)
    reject(std::to_string(topology->ranks) + " ranks",
           "2 to " + std::to_string(most_synthesized_ranks));
  if (demands_of(collective, topology->ranks, 0).empty())
    reject(input.collective + " goes by no trees",
           "all_reduce, reduce_scatter, all_gather, broadcast or reduce");
  if (!std::ranges::all_of(input.name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
    reject("'" + input.name + "' (--name) is no name", "letters, digits and underscores");
  static_cast<void>(parse_scripts(  // complains of names that rondo has itself
      {{"--name", "collective barrier\nalgorithm " + input.name + "\nranks 2\n"}}));
  const bool rooted = info(collective).has_root;
  if (input.root >= 0) check_root(input.root, topology->ranks);
  if (input.root >= 0 && !rooted) reject(input.collective + " has no root", "no --root");
  if (rooted && input.root < 0 && topology->ranks > most_with_all_roots)
    reject(
        "schedules for each of " + std::to_string(topology->ranks) + " roots",
        "--root R for one of them, or at most " + std::to_string(most_with_all_roots) + " ranks");
  std::vector<int> roots;
  for (int root = 0; root < (rooted && input.root < 0 ? topology->ranks : 1); ++root)
    roots.push_back(std::max(input.root, root));
  const double bytes = parse_bytes(input.bytes);
  if (bytes <= 0) reject("calls of no bytes", "--bytes 64K, for example");
  require_folder_of("--output", input.output);
  return {collective, *topology, Network(*topology), bytes, roots};
}

/// One for each root, all cut into as many pieces.
std::vector<Synthesized> search(const Task& task, const bench::Progress& progress) {
  std::vector<Synthesized> all;
  const std::size_t roots = task.roots.size();
  for (const int root : task.roots) {
    progress.say(format("looking for a schedule, root %d of %zu", root, roots));
    all.push_back(synthesize({.collective = task.collective,
                              .root = root,
                              .bytes = task.bytes,
                              .pieces = all.empty() ? 0 : all.front().schedule.layout.parts,
                              .effort = 1 / static_cast<double>(roots),
                              .most_messages = most_messages / roots},
                             task.topology, task.network));
    const Report report = verify(all.back().schedule);
    if (!report.ok())
      throw Error(ErrorCode::internal, "a wrong schedule: " + report.findings.front());
  }
  return all;
}

/// The seconds of a call from the slowest root.
double slowest(const Task& task, const std::vector<Schedule>& by_root) {
  double seconds = 0;
  for (const Schedule& schedule : by_root)
    seconds = std::max(
        seconds, seconds_in_loop(schedule, task.bytes, task.topology, task.network, looped_calls));
  return seconds;
}

struct Rival {
  std::string name{};
  double seconds = 0;
};

/// The fastest of rondo's own.
Rival best_rival(const Task& task) {
  Rival best;
  for (const Composition& row : compositions_by_name(task.collective, "", task.topology)) {
    std::vector<Schedule> by_root;
    for (const int root : task.roots) by_root.push_back(row.build(task.topology, root));
    const double seconds = slowest(task, by_root);
    if (best.name.empty() || seconds < best.seconds) best = {row.name(), seconds};
  }
  return best;
}

/// Of the slowest root, in seconds.
Bound bound_of(const Task& task) {
  Bound bound;
  for (const int root : task.roots) {
    const Bound one =
        bound_of_trees(task.network, demands_of(task.collective, task.topology.ranks, root));
    bound.at_least = std::max(bound.at_least, task.bytes * one.at_least);
    bound.reached = std::max(bound.reached, task.bytes * one.reached);
  }
  return bound;
}

/// The calls for which it is faster, as a text says them: from this size up and down.
std::string sizes_of(const Task& task, const std::vector<Schedule>& by_root) {
  const auto is_faster = [&](double bytes) {
    Task other = task;
    other.bytes = bytes;
    return slowest(other, by_root) < best_rival(other).seconds;
  };
  double least = std::floor(task.bytes);
  double most = least;
  while (least >= size_step * smallest_size && is_faster(std::floor(least / size_step)))
    least = std::floor(least / size_step);
  while (most < largest_size && is_faster(most * size_step)) most *= size_step;
  return format("%.0f..", least) + (most < largest_size ? format("%.0f", most) : "");
}

std::string ratio(double seconds, double other) {
  return other > 0 ? format("%.2f", seconds / other) : "-";
}

/// What is to be known of a result.
struct Result {
  double seconds = 0;
  int tried = 0;
  Rival rival{};
  Bound bound{};
  std::string sizes{};  ///< for which it is faster

  bool is_faster() const { return seconds < rival.seconds * 0.99; }
};

void report(const Task& task, const Result& result) {
  Table table(1);
  table.row({"", "predicted us", "of the bound"});
  const auto row = [&](const std::string& name, double time) {
    table.row({name, format("%.3f", time * 1e6), ratio(time, result.bound.at_least)});
  };
  row("synthesized", result.seconds);
  row("best of rondo's own: " + result.rival.name, result.rival.seconds);
  if (result.bound.reached > result.bound.at_least * 1.03)
    row("trees by bytes alone, cut finely", result.bound.reached);
  row("bound of trees, by bytes alone", result.bound.at_least);
  std::printf("%s, %d ranks, N = %s: %s\n%s", std::string(name(task.collective)).c_str(),
              task.topology.ranks, bytes_text(task.bytes).c_str(),
              costs_text(task.topology).c_str(), table.text().c_str());
  std::printf("%s times as fast as %s%s, the best of %d schedules that were tried%s\n",
              ratio(result.rival.seconds, result.seconds).c_str(), result.rival.name.c_str(),
              task.roots.size() > 1 ? " from the slowest root" : "", result.tried,
              result.is_faster() ? "" : "; rondo's own is at least as fast");
}

void write(const std::string& path, const std::string& text, const std::string& sizes,
           bool for_calls) {
  if (text.size() > most_text)
    reject("the text would have " + size_text(static_cast<double>(text.size())) +
               ", more than a job takes",
           "fewer ranks");
  write_page(path, text);
  std::printf("verified, and written to %s", path.c_str());
  if (!for_calls)
    std::printf(" for tools, such as rondo explain --file; no call takes a text for one root\n");
  else if (sizes.empty())
    std::printf("\n");
  else
    std::printf(", for calls of %s bytes: run it with RONDO_SCHEDULES=%s\n", sizes.c_str(),
                path.c_str());
}

void run(const SynthesizeInput& input) {
  const Task task = task_of(input);
  std::vector<Schedule> by_root;
  Result result;
  {
    const bench::Progress progress;
    for (const Synthesized& each : search(task, progress)) {
      by_root.push_back(each.schedule);
      result.tried += each.tried;
    }
    progress.say("comparing it with rondo's own");
    result.seconds = slowest(task, by_root);
    result.rival = best_rival(task);
    result.bound = bound_of(task);
    if (result.is_faster()) result.sizes = sizes_of(task, by_root);
  }
  report(task, result);
  const std::string text = synthesized_text(
      by_root, task.topology,
      {{"By rondo synthesize " + input.collective + " for calls of " + bytes_text(task.bytes) + ".",
        "Predicted: " + format("%.4g us; %s: %.4g us.", result.seconds * 1e6,
                               result.rival.name.c_str(), result.rival.seconds * 1e6)},
       input.name,
       result.sizes});
  const Script script = parse_script(text, "the text");
  for (const Schedule& schedule : by_root)  // what programs will read
    static_cast<void>(script.build_right(task.topology, schedule.root));
  if (!input.output.empty()) write(input.output, text, result.sizes, script.for_any_root());
}

}  // namespace

void add_synthesize(CLI::App& program) {
  const auto arguments = std::make_shared<SynthesizeInput>();
  CLI::App* command = program.add_subcommand(
      "synthesize",
      "Looks for a schedule that suits a cluster: trees that load its links evenly, in the order\n"
      "and number that the simulator finds fastest. Verifies it, and compares it with rondo's own\n"
      "and with the least that any trees could take. Times are those of a call in a loop of calls, "
      "as of\n"
      "simulate --loop, and not less than the busiest link takes.\n"
      "Example: rondo synthesize all_reduce --topology cluster.json -b 16M -o mine.schedule");
  command
      ->add_option(
          "collective", arguments->collective,
          "all_reduce, reduce_scatter, all_gather, broadcast or reduce; of 2 to 64 ranks, or to\n"
          "16 where schedules for all roots are wanted")
      ->required();
  add_topology_options(*command, arguments->where, nullptr);
  command
      ->add_option("-b,--bytes", arguments->bytes,
                   "N: the vector, or all blocks together if there is a block per rank")
      ->capture_default_str();
  command
      ->add_option("-r,--root", arguments->root,
                   "for this root alone. Such a text serves tools, but no calls. Default: for all")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--name", arguments->name, "the algorithm's name in the text")
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "writes the text, which programs run");
  command->callback([arguments, command] {
    refuse_empty(*command, {"--hosts", "--topology", "--output", "--name"});
    run(*arguments);
  });
}

}  // namespace rondo::tool
