#include "tools/rondo/option_checks.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tools/rondo/arguments.h"

namespace rondo::tool {

void refuse_empty(const CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const CLI::Option& each = *command.get_option(option);
    if (each.count() > 0 && each.as<std::string>().empty())
      reject(std::string(option) + " is empty", "a name after it, or leave it out");
  }
}

void exclude(CLI::App& command, std::initializer_list<const char*> options,
             std::initializer_list<const char*> others) {
  for (const char* option : options)
    for (const char* other : others)
      command.get_option(option)->excludes(command.get_option(other));
}

std::string cost_obstacle(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && *end == '\0';
  return number && std::isfinite(value) && value >= 0
             ? std::string()
             : "'" + text + "' is not a number of seconds, such as 1e-6";
}

void add_costs(CLI::App& command, Costs& costs, const std::string& whose, CLI::Option* profile) {
  const auto add = [&](const char* option, double& value, const char* what) {
    command.add_option(option, value, whose + what)
        ->check(cost_obstacle)
        ->capture_default_str()
        ->excludes(profile);
  };
  add("--alpha", costs.alpha, "seconds a message");
  add("--beta", costs.beta, "seconds a byte");
  add("--gamma", costs.gamma, "seconds a reduced byte");
}

void require_folder_of(const char* option, const std::string& path) {
  if (path.empty()) return;
  const auto folder = std::filesystem::absolute(path).parent_path();
  const bool writable =
      ::access(folder.c_str(), W_OK | X_OK) == 0 && !std::filesystem::is_directory(path);
  if (!writable)
    reject("cannot write '" + path + "' (" + option + ")",
           "a path in a folder that exists and that you may write to");
}

}  // namespace rondo::tool
