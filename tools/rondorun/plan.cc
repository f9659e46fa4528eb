#include "tools/rondorun/plan.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/rondorun/launch_error.h"

namespace rondo::launch {
namespace {

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set(std::vector<std::string>& environment, const std::string& variable) {
  std::erase_if(environment,
                [&](const std::string& other) { return name_of(other) == name_of(variable); });
  environment.push_back(variable);
}

void set(std::vector<std::string>& environment, const char* name, const std::string& value) {
  set(environment, std::string(name) + "=" + value);
}

/// The most hardware queues that a process can have on a GPU (CUDA's default: 8). Then streams of
/// ranks that are threads of one process are likely to have their own.
constexpr const char* gpu_queues = "CUDA_DEVICE_MAX_CONNECTIONS=32";

void add_if_missing(std::vector<std::string>& environment, const char* variable) {
  const bool known = std::ranges::any_of(
      environment, [&](const std::string& other) { return name_of(other) == name_of(variable); });
  if (!known) environment.emplace_back(variable);
}

/// Variables set by a torchrun around this one would make ranks look for that torchrun's store.
bool belongs_to_other_launcher(std::string_view variable) {
  return variable.starts_with("TORCHELASTIC_");
}

/// These variables say which host this is. With one text for all, ranks of different hosts would
/// look for each other in one machine's memory.
bool names_host(std::string_view variable) {
  return name_of(variable) == "RONDO_HOSTID" || name_of(variable) == "NCCL_HOSTID";
}

bool travels(std::string_view variable) {
  if (names_host(variable)) return false;
  return variable.starts_with("RONDO_") || variable.starts_with("NCCL_");
}

NodePlan common_plan(const Options& options) {
  NodePlan plan;
  plan.master_address = options.master_address;
  plan.master_port = options.master_port;
  plan.bind_to_core = options.bind_to_core;
  plan.directory = options.directory;
  plan.variables = options.variables;
  plan.command = options.command;
  return plan;
}

/// The address of the master. Every host must be able to connect to it, so "localhost" will do only
/// when all hosts are this machine.
std::string master_of(const std::vector<Host>& hosts) {
  if (std::all_of(hosts.begin(), hosts.end(), is_this_machine)) return "127.0.0.1";
  const std::string address = address_of(hosts.front());
  return address == "localhost" ? this_machine() : address;
}

}  // namespace

NodePlan local_plan(const Options& options) {
  NodePlan plan = common_plan(options);
  plan.nodes = options.nodes;
  plan.node = options.node;
  plan.ranks = options.ranks;
  plan.world = options.nodes * options.ranks;
  plan.first_rank = options.node * options.ranks;
  if (plan.master_address.empty()) plan.master_address = "127.0.0.1";
  return plan;
}

std::vector<NodePlan> host_plans(const Options& options, std::span<const std::string> environment,
                                 const std::string& directory) {
  const auto hosts = options.ranks > 0 ? limit_hosts(options.hosts, options.ranks) : options.hosts;
  NodePlan plan = common_plan(options);
  plan.nodes = static_cast<int>(hosts.size());
  plan.variables.clear();
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(plan.variables), travels);
  for (const std::string& variable : options.variables) set(plan.variables, variable);
  if (plan.directory.empty()) plan.directory = directory;
  if (plan.master_address.empty()) plan.master_address = master_of(hosts);
  plan.world = 0;
  for (const Host& host : hosts) plan.world += host.ranks;
  std::vector<NodePlan> plans;
  for (const Host& host : hosts) {
    plan.ranks = host.ranks;
    plans.push_back(plan);
    plan.node += 1;
    plan.first_rank += host.ranks;
  }
  return plans;
}

std::optional<std::string> secret_for(const Options& options,
                                      std::span<const std::string> environment) {
  const auto brings = [](const std::string& variable) {  // one without a value is as if not set
    const std::string_view name = name_of(variable);
    return (name == "RONDO_SECRET" || name == "RONDO_SECRET_FILE") &&
           variable.size() > name.size() + 1;
  };
  if (options.nodes > 1 || std::ranges::any_of(environment, brings) ||
      std::ranges::any_of(options.variables, brings))
    return std::nullopt;
  std::array<unsigned char, 32> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw system_error("no random numbers for the job's secret");
  std::string variable = "RONDO_SECRET=";
  for (const unsigned char byte : random) {
    variable += "0123456789abcdef"[byte >> 4];
    variable += "0123456789abcdef"[byte & 15];
  }
  return variable;
}

std::vector<std::string> rank_environment(const NodePlan& plan, int local_rank,
                                          std::span<const std::string> inherited) {
  std::vector<std::string> environment;
  std::remove_copy_if(inherited.begin(), inherited.end(), std::back_inserter(environment),
                      belongs_to_other_launcher);
  set(environment, "RANK", std::to_string(plan.first_rank + local_rank));
  set(environment, "WORLD_SIZE", std::to_string(plan.world));
  set(environment, "LOCAL_RANK", std::to_string(local_rank));
  set(environment, "LOCAL_WORLD_SIZE", std::to_string(plan.ranks));
  set(environment, "GROUP_RANK", std::to_string(plan.node));
  set(environment, "GROUP_WORLD_SIZE", std::to_string(plan.nodes));
  set(environment, "NODE_RANK", std::to_string(plan.node));
  set(environment, "MASTER_ADDR", plan.master_address);
  set(environment, "MASTER_PORT", std::to_string(plan.master_port));
  // Last, so that --env can overrule anything above.
  for (const std::string& variable : plan.variables) set(environment, variable);
  add_if_missing(environment, gpu_queues);
  return environment;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return environment;
}

}  // namespace rondo::launch
