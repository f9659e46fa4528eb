#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/rondo/arguments.h"
#include "tools/rondo/commands.h"
#include "tools/rondo/page/lessons.h"
#include "tools/rondo/page/page.h"
#include "tools/rondo/page/serve.h"

namespace rondo::tool {
namespace {

struct Arguments {
  int port = 0;
  std::string folder{};
};

void write_site(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    reject("cannot make the folder '" + folder + "': " + error.message(),
           "a folder that you may write to");
  for (const SiteFile& file : learning_site()) write_page(folder + "/" + file.name, file.html);
  std::printf("wrote the lessons: open %s/index.html in a browser\n", folder.c_str());
}

void serve_site(int port) {
  serve(learning_site(), port, [](const std::string& address) {
    std::printf("the lessons are at %s (from this machine only); Ctrl-C ends\n", address.c_str());
    std::fflush(stdout);
  });
}

void learn(const Arguments& arguments) {
  if (arguments.folder.empty())
    serve_site(arguments.port);
  else
    write_site(arguments.folder);
}

}  // namespace

void add_learn(CLI::App& program) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand(
      "learn",
      "Ten short lessons on how collectives work, each with an animated page whose paragraphs are\n"
      "its buttons. Serves them to a browser on this machine, or writes them as files.\n"
      "Example: rondo learn --output lessons");
  CLI::Option* port =
      command->add_option("-p,--port", arguments->port, "port to serve on; 0: any free one")
          ->check(CLI::Range(0, 65535))
          ->capture_default_str();
  CLI::Option* output =
      command->add_option("-o,--output", arguments->folder, "writes files into this folder instead")
          ->excludes(port);
  command->callback([arguments, output] {
    if (output->count() > 0 && arguments->folder.empty())
      reject("--output is empty", "--output FOLDER, or no --output");
    learn(*arguments);
  });
}

}  // namespace rondo::tool
