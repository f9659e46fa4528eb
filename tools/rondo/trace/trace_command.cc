#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/option_checks.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/trace/chrome.h"
#include "tools/rondo/trace/load.h"
#include "tools/rondo/trace/real.h"
#include "tools/rondo/trace/real_page.h"
#include "tools/rondo/trace/summary.h"

namespace rondo::tool {
namespace {

struct Arguments {
  std::vector<std::string> files{};
  std::string chrome{};
  std::string html{};
  std::size_t call = 0;  ///< 0: not said
};

void show_trace(const Arguments& arguments) {
  const Timeline timeline = load_timeline(arguments.files);
  const bool one = arguments.call > 0;
  if (one) timeline.call(arguments.call);
  if (!arguments.chrome.empty()) {
    write_page(arguments.chrome, [&](std::ostream& file) { write_chrome(timeline, file); });
    std::printf("wrote %s: open it at https://ui.perfetto.dev or in chrome://tracing\n",
                arguments.chrome.c_str());
  }
  if (!arguments.html.empty()) {
    const TracedCall& call = one ? timeline.call(arguments.call) : slowest_playable(timeline);
    write_page(arguments.html, real_page(timeline, call, arguments.files));
    std::printf("wrote %s, call %zu: open it in a browser\n", arguments.html.c_str(), call.number);
  }
  if (!arguments.chrome.empty() || !arguments.html.empty()) return;
  const std::string text = one ? call_text(timeline.call(arguments.call)) : summary_text(timeline);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_trace(CLI::App& program) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "trace",
      "Shows a recorded run: merges the traces of its ranks onto one clock, and says which rank\n"
      "waited for which, and which rank, link and round was the slowest.\n"
      "RONDO_TRACE=FILE makes every rank record its calls. It writes FILE.RANK when its\n"
      "communicator is finalized or fails (FILE.NAME.RANK for each further communicator).\n"
      "RONDO_TRACE_LIMIT sets how many events it keeps. Ranks on several machines compare their\n"
      "clocks at the start and in finalize(), which then waits for all ranks.\n"
      "A call on GPU buffers has no steps: the trace has its path, and when it was put into its\n"
      "stream, begun and completed.\n"
      "Example: RONDO_TRACE=run rondorun -n 4 ./all_reduce_perf; rondo trace run");
  command
      ->add_option("files", arguments->files, "the ranks' files, or FILE for FILE.0, FILE.1, ...")
      ->required();
  command->add_option(
      "--chrome", arguments->chrome,
      "writes JSON for Perfetto or chrome://tracing: a process for each rank, tracks for calls,\n"
      "waits and lanes, arrows for messages");
  command->add_option("--html", arguments->html,
                      "writes a page that plays a call as it went (up to 64 ranks)");
  command->add_option("--call", arguments->call, "shows one call, by its number in the summary")
      ->check(CLI::Range(1, 1000000000));
  command->callback([arguments, command] {
    refuse_empty(*command, {"--chrome", "--html"});
    show_trace(*arguments);
  });
}

}  // namespace rondo::tool
