#include "core/settings/nccl_files.h"

#include <fstream>
#include <set>
#include <string_view>

#include "core/base/environment.h"

namespace rondo {
namespace {

std::string name_of(std::string_view entry) {
  return std::string(entry.substr(0, entry.find('=')));
}

void add_file(const std::string& path, std::set<std::string>& names,
              std::vector<std::string>& entries) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const bool assigns = line.starts_with("NCCL_") && line.find('=') != std::string::npos;
    if (assigns && names.insert(name_of(line)).second) entries.push_back(line);
  }
}

/// The user's own file; empty: there is none.
std::string user_file(const Environment& environment) {
  if (const auto named = environment.find("NCCL_CONF_FILE")) return *named;
  const auto home = environment.find("HOME");
  return home ? *home + "/.nccl.conf" : "";
}

}  // namespace

std::vector<std::string> with_nccl_files(std::vector<std::string> environment,
                                         const std::string& system_file) {
  std::set<std::string> names;
  for (const std::string& entry : environment) names.insert(name_of(entry));
  const std::string own = user_file(Environment(environment));
  if (!own.empty()) add_file(own, names, environment);
  add_file(system_file, names, environment);
  return environment;
}

std::vector<std::string> environment_with_files() {
  return with_nccl_files(Environment::of_process(), "/etc/nccl.conf");
}

}  // namespace rondo
