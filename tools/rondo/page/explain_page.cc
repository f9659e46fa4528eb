#include "tools/rondo/page/explain_page.h"

#include <CLI/CLI.hpp>

#include "tools/rondo/format.h"
#include "tools/rondo/page/page.h"

namespace rondo::tool {
namespace {

std::string command_of(const PageSubject& subject, const PageArguments& arguments) {
  const Schedule& schedule = subject.schedule;
  std::string words = "rondo explain " + std::string(name(schedule.collective));
  words += " --algorithm " + shell_word(schedule.algorithm);
  words += " " + subject.ranks;
  if (schedule.root != 0) words += " --root " + std::to_string(schedule.root);
  if (!arguments.compare.empty()) words += " --compare " + shell_word(arguments.compare);
  if (!arguments.profile.empty()) words += " --profile " + shell_word(arguments.profile);
  if (!arguments.transport.empty()) words += " --transport " + arguments.transport;
  return words + " --html FILE";
}

}  // namespace

void add_page_options(CLI::App& command, PageArguments& arguments) {
  CLI::Option* html =
      command.add_option("--html", arguments.file,
                         "writes an animated page for a browser, in one file (up to 64 ranks)");
  for (const char* table_only : {"--count", "--type", "--values", "--width"})
    if (CLI::Option* other = command.get_option_no_throw(table_only)) html->excludes(other);
  CLI::Option* profile = command.add_option("--profile", arguments.profile,
                                            "with --html: the page's clock has the costs of 1 MiB "
                                            "calls that `rondo calibrate\n"
                                            "--output FILE` measured");
  profile->needs(html);
  command
      .add_option("--transport", arguments.transport,
                  "the transport in --profile to use, such as tcp; default: its first")
      ->needs(profile);
  command.add_option(
      "--compare", arguments.compare,
      "with --html: another algorithm to show beside it, round by round or on one clock");
}

void write_explained_page(const PageSubject& subject, const PageArguments& arguments) {
  if (arguments.file.empty()) reject("--compare needs --html", "--html FILE");
  PageContent content = explained_page(subject.schedule, arguments.compare, subject.topology);
  content.own_text = subject.own_text;
  if (subject.costs) {
    content.alpha = subject.costs->alpha;
    content.beta = subject.costs->beta;
    content.gamma = subject.costs->gamma;
  }
  if (!subject.own_text) {
    content.command = command_of(subject, arguments);
    add_worlds(content, rebuilt);
  }
  write_to_open(arguments.file, page_html(content));
}

}  // namespace rondo::tool
